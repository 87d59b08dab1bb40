#include "tools/report/html_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RunRecords RunOf(const std::string& compressor, int iterations) {
  RunRecords run;
  run.directory = "runs/" + compressor;
  run.job = "the job";
  run.model = "lenet5";
  run.compressor = compressor;
  run.value_code = "fp32";
  run.target_ratio = 0.01;
  run.num_workers = 2;
  run.num_servers = 3;
  run.num_parameters = 61706;
  run.total_iterations = 40;
  for (int i = 1; i <= iterations; ++i) {
    IterationRow row;
    row.iteration = i;
    row.training_loss = 2.0 / i;
    row.count = 612;
    row.target_count = 600;
    row.stages = 2;
    row.residual_norm = std::sqrt(i);
    row.bytes_up = 1000.0 * i;
    row.seconds = 0.25 * i;
    run.iterations.push_back(row);
  }
  run.seconds = 1234.56;
  run.achieved_ratio = 0.0125;
  run.bytes_down = 5e6;
  run.dense_bytes_up = 100000.0 * iterations;
  run.dense_bytes_down = 5e6;
  run.evaluations.push_back({static_cast<double>(iterations), 0.9712,
                             0.25 * iterations, 1000.0 * iterations});
  return run;
}

TEST(HtmlReportTest, TheTableHasTheRunsNumbers) {
  const std::string html = HtmlReport({RunOf("sidco_e", 40)}, {});
  for (const char* cell :
       {">the job<", ">sidco_e 0.01<", ">2 × 3<", ">0.01<", ">0.0125<",
        ">1.020<", ">100.0 %<", ">accuracy 97.12 %<", ">40.0 kB (1.00 %)<",
        ">5.00 MB (100.00 %)<", ">40<", ">1234.6<",
        "lenet5, 61,706 parameters"}) {
    EXPECT_THAT(html, HasSubstr(cell));
  }
}

TEST(HtmlReportTest, ThePageNeedsNothingElse) {
  const std::string html =
      HtmlReport({RunOf("sidco_e", 40), RunOf("sidco_p", 30)}, {});
  for (const char* fetch : {"http", "src=", "href=", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(fetch)));
  }
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
}

TEST(HtmlReportTest, EveryRunHasALineInEveryPlot) {
  const std::string html =
      HtmlReport({RunOf("sidco_e", 40), RunOf("sidco_p", 30)}, {});
  int lines = 0;
  for (size_t at = 0; (at = html.find("<polyline ", at)) != std::string::npos;
       ++at) {
    ++lines;
  }
  EXPECT_EQ(lines, 10 * 2);
}

TEST(HtmlReportTest, WithoutATargetNothingIsComparedWithIt) {
  RunRecords run = RunOf("threshold", 40);
  run.target_ratio = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(MarkdownReport({run}),
              HasSubstr("| threshold, fp32 | – | 0.0125 | – | – |"));
  const std::string html = HtmlReport({run}, {});
  EXPECT_THAT(html, Not(HasSubstr("Achieved over target")));
  EXPECT_THAT(html, HasSubstr("Estimation stages"));
}

TEST(HtmlReportTest, WhatAutoCompressedIsShown) {
  RunRecords run = RunOf("auto", 40);
  for (IterationRow& row : run.iterations) row.compressed_share = 0.5;
  run.compressed_share = 0.625;
  const std::string html = HtmlReport({run, RunOf("none", 40)}, {});
  EXPECT_THAT(html, HasSubstr("<th>compressed by auto</th>"));
  EXPECT_THAT(html, HasSubstr(">62.5 %<"));
  EXPECT_THAT(html, HasSubstr("What &quot;auto&quot; compresses"));
  EXPECT_THAT(HtmlReport({RunOf("none", 40)}, {}),
              Not(HasSubstr("&quot;auto&quot;")));
}

TEST(HtmlReportTest, EachMetricHasAPlotOfItsOwn) {
  RunRecords words = RunOf("sidco_e", 40);
  words.metric = "test_perplexity";
  words.evaluations = {{40, 84.5}};
  const std::string html = HtmlReport({RunOf("none", 40), words}, {});
  EXPECT_THAT(html, HasSubstr("<strong>Test accuracy</strong>"));
  EXPECT_THAT(html, HasSubstr("<strong>Test perplexity</strong>"));
  EXPECT_THAT(html, HasSubstr(">accuracy 97.12 %<"));
  EXPECT_THAT(html, HasSubstr(">perplexity 84.5000<"));
}

TEST(HtmlReportTest, ARunThatHasOnlyStartedHasATableAndNoPlots) {
  RunRecords run;
  run.job = "empty";
  run.target_ratio = run.seconds = run.achieved_ratio = run.bytes_down =
      run.dense_bytes_up = run.dense_bytes_down =
          std::numeric_limits<double>::quiet_NaN();
  const std::string html = HtmlReport({run}, {});
  EXPECT_THAT(html, HasSubstr(">empty<"));
  EXPECT_THAT(html, HasSubstr(">–<"));
  EXPECT_THAT(html, Not(HasSubstr("<figure")));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
}

TEST(HtmlReportTest, ARecordMayCoverSeveralIterations) {
  RunRecords run = RunOf("sidco_e", 5);
  for (IterationRow& row : run.iterations) row.iteration *= 8;
  EXPECT_THAT(HtmlReport({run}, {}), Not(HasSubstr(" of 40<")));
  run.total_iterations = 48;
  EXPECT_THAT(HtmlReport({run}, {}), HasSubstr(">40 of 48<"));
}

TEST(HtmlReportTest, OneIterationIsDrawnAndSaysHowManyAreMissing) {
  const std::string html = HtmlReport({RunOf("sidco_e", 1)}, {});
  EXPECT_THAT(html, HasSubstr("<circle "));
  EXPECT_THAT(html, HasSubstr(">1 of 40<"));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
}

TEST(HtmlReportTest, NumbersThatAreNotFiniteLeaveTheRest) {
  RunRecords run = RunOf("sidco_e", 40);
  for (IterationRow& row : run.iterations) {
    row.residual_norm = std::numeric_limits<double>::quiet_NaN();
  }
  run.iterations[7].training_loss = std::numeric_limits<double>::quiet_NaN();
  const std::string html = HtmlReport({run}, {});
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_THAT(html, Not(HasSubstr("Euclidean norm")));
  EXPECT_THAT(html, HasSubstr("Training loss"));
}

TEST(HtmlReportTest, ARunThatKeepsNothingIsNotInThePlotOfWhatIsKept) {
  RunRecords run = RunOf("none", 40);
  for (IterationRow& row : run.iterations) row.residual_norm = 0;
  const std::string html = HtmlReport({run, RunOf("topk", 40)}, {});
  const std::string plot = html.substr(
      html.find("<strong>What is kept back"),
      html.find("<strong>Training loss") - html.find("<strong>What is kept"));
  EXPECT_THAT(plot, AllOf(HasSubstr("topk"), Not(HasSubstr("none"))));
}

TEST(HtmlReportTest, TheHeadingNamesAFewJobsAndCountsMany) {
  std::vector<RunRecords> runs;
  for (const char* job : {"a", "b", "c"}) {
    runs.push_back(RunOf("topk", 3));
    runs.back().job = job;
  }
  EXPECT_THAT(HtmlReport(runs, {}), HasSubstr("<h1>a, b, c</h1>"));
  runs.push_back(RunOf("topk", 3));
  EXPECT_THAT(HtmlReport(runs, {}), HasSubstr("<h1>4 runs</h1>"));
}

TEST(HtmlReportTest, BytesAreLogarithmicIfRunsEndFarApart) {
  RunRecords run = RunOf("topk", 40);
  RunRecords dense = RunOf("none", 40);
  for (IterationRow& row : dense.iterations) row.bytes_up *= 19;
  const auto bytes_plot = [&] {
    const std::string html = HtmlReport({run, dense}, {});
    return html.substr(html.find("<strong>Sent by all workers"));
  };
  // The largest tick of a linear axis, and a tick of a logarithmic one.
  EXPECT_THAT(bytes_plot(),
              AllOf(HasSubstr(">0.8<"), Not(HasSubstr(">0.01<"))));
  for (IterationRow& row : dense.iterations) row.bytes_up *= 2;
  EXPECT_THAT(bytes_plot(),
              AllOf(Not(HasSubstr(">0.8<")), HasSubstr(">0.01<")));
}

TEST(HtmlReportTest, TextOfTheRunIsEscaped) {
  RunRecords run = RunOf("sidco_e", 3);
  run.job = run.model = run.compressor = run.directory =
      "<script>alert('x')</script>";
  const std::string html = HtmlReport({run, run}, {});
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)"));
}

TEST(RunLabelsTest, AreJobsOrCompressorsOrDirectories) {
  RunRecords run = RunOf("topk", 1);
  RunRecords other = run;
  other.directory = "runs/again";
  EXPECT_THAT(RunLabels({run}), testing::ElementsAre("topk 0.01"));
  EXPECT_THAT(RunLabels({run, other}),
              testing::ElementsAre("runs/topk", "runs/again"));
  other.value_code = "fp16";
  EXPECT_THAT(RunLabels({run, other}),
              testing::ElementsAre("topk 0.01", "topk + fp16 0.01"));
  other.job = "again";
  EXPECT_THAT(RunLabels({run, other}),
              testing::ElementsAre("the job", "again"));
}

// Loss and test results, each by iterations, bytes and time.
TEST(ReportPlotsTest, ResultsAreDrawnAgainstWhatTheyCost) {
  const std::vector<Plot> plots =
      ReportPlots({RunOf("sidco_e", 40), RunOf("none", 30)});
  const auto last_of = [&plots](const std::string& title) {
    for (const Plot& plot : plots) {
      if (plot.title == title) return plot.series[0].points.back();
    }
    ADD_FAILURE() << "no plot " << title;
    return PlotPoint();
  };
  EXPECT_EQ(last_of("Training loss").x, 40);
  EXPECT_EQ(last_of("Training loss by bytes").x, 0.04) << "MB";
  EXPECT_EQ(last_of("Training loss by time").x, 10);
  EXPECT_EQ(last_of("Test accuracy").x, 40);
  EXPECT_EQ(last_of("Test accuracy by bytes").x, 0.04);
  EXPECT_EQ(last_of("Test accuracy by time").x, 10);
  EXPECT_DOUBLE_EQ(last_of("Test accuracy by time").y, 97.12);
}

TEST(MarkdownReportTest, HasOneRowForEachRun) {
  RunRecords run = RunOf("topk", 40);
  run.job = "a|b\nc";
  const std::string table = MarkdownReport({run});
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);
  EXPECT_THAT(
      table,
      HasSubstr("| topk 0.01 | a\\|b c | lenet5, 61,706 "
                "parameters | 2 × 3 | topk, fp32 | 0.01 | 0.0125 | 1.020 "
                "| 100.0 % | accuracy 97.12 % |"));
}

}  // namespace
}  // namespace ps
