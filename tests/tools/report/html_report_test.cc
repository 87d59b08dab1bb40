#include "tools/report/html_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/report/run_plots.h"
#include "tools/report/run_table.h"

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
    row.bytes_down = 500.0 * i;
    row.seconds = 0.25 * i;
    row.samples = 64.0 * i;
    run.iterations.push_back(row);
  }
  run.seconds = 1234.56;
  run.achieved_ratio = 0.0125;
  run.samples_per_second = 256;
  run.bytes_up = 1000.0 * iterations;
  run.bytes_down = 5e6;
  run.dense_bytes_up = 100000.0 * iterations;
  run.dense_bytes_down = 5e6;
  run.evaluations.push_back({static_cast<double>(iterations), 0.9712,
                             0.25 * iterations, 1000.0 * iterations, 0.5});
  return run;
}

TEST(HtmlReportTest, TheFirstTableHasWhatMostReadersWant) {
  const std::string table = MainTable({RunOf("sidco_e", 30)});
  for (const char* part :
       {"<th>run</th><th>model</th><th>result</th><th>time</th>"
        "<th>bytes up</th><th>bytes down</th></tr>",
        "<td>sidco_e 0.01</td>",
        ">lenet5<small>sidco_e, fp32, ratio 0.01</small>",
        ">97.12 %<small>test accuracy</small>",
        ">20m 35s<small>30 of 40 iterations</small>",
        ">30.0 kB<small>1.00 % of dense</small>",
        ">5.00 MB<small>100.00 % of dense</small>"}) {
    EXPECT_THAT(table, HasSubstr(part));
  }
}

TEST(HtmlReportTest, AllOtherNumbersAreFolded) {
  const std::string html = HtmlReport({RunOf("sidco_e", 40)}, {});
  const std::string details = html.substr(
      html.find("<details>"), html.find("</details>") - html.find("<details>"));
  for (const char* row :
       {"<th>job</th><td>the job<", "<th>parameters</th><td>61,706<",
        "<th>workers × servers</th><td>2 × 3<",
        "<th>target ratio</th><td>0.01<", "<th>achieved ratio</th><td>0.0125<",
        "<th>achieved / target</th><td>1.020<",
        "<th>within 20 %</th><td>100.0 %<", "<th>iterations</th><td>40<",
        "<th>seconds</th><td>1234.6<", "<th>samples a second</th><td>256<",
        "<th>last training loss</th><td>0.05<"}) {
    EXPECT_THAT(details, HasSubstr(row));
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
  // Accuracy and two losses three times, throughput, bytes in two directions,
  // ratio, stages and residual.
  EXPECT_EQ(lines, 15 * 2);
}

TEST(HtmlReportTest, WithoutATargetNothingIsComparedWithIt) {
  RunRecords run = RunOf("threshold", 40);
  run.target_ratio = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(MarkdownReport({run}),
              AllOf(HasSubstr("| lenet5 (threshold, fp32) |"),
                    HasSubstr("| – | 0.0125 | – | – |")));
  const std::string html = HtmlReport({run}, {});
  EXPECT_THAT(html, Not(HasSubstr("Achieved over target")));
  EXPECT_THAT(html, HasSubstr("Estimation stages"));
}

TEST(HtmlReportTest, WhatAutoCompressedIsShown) {
  RunRecords run = RunOf("auto", 40);
  for (IterationRow& row : run.iterations) row.compressed_share = 0.5;
  run.compressed_share = 0.625;
  const std::string html = HtmlReport({run, RunOf("none", 40)}, {});
  EXPECT_THAT(html, HasSubstr("<th>compressed by auto</th><td>62.5 %<"));
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
  EXPECT_THAT(html, HasSubstr(">97.12 %<small>test accuracy<"));
  EXPECT_THAT(html, HasSubstr(">84.5000<small>test perplexity<"));
}

TEST(HtmlReportTest, ARunThatHasOnlyStartedHasATableAndNoPlots) {
  RunRecords run;
  run.job = "empty";
  run.target_ratio = run.seconds = run.achieved_ratio = run.bytes_up =
      run.bytes_down = run.samples_per_second = run.dense_bytes_up =
          run.dense_bytes_down = std::numeric_limits<double>::quiet_NaN();
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
  const std::string plot =
      html.substr(html.find("<strong>What is kept back"),
                  html.find("</figure>", html.find("<strong>What is kept")) -
                      html.find("<strong>What is kept"));
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

const Plot& PlotNamed(const std::vector<Plot>& plots,
                      const std::string& title) {
  for (const Plot& plot : plots) {
    if (plot.title == title) return plot;
  }
  ADD_FAILURE() << "no plot " << title;
  return plots.front();
}

TEST(ExchangePlotsTest, BytesAreLogarithmicIfRunsEndFarApart) {
  RunRecords run = RunOf("topk", 40);
  RunRecords dense = RunOf("none", 40);
  const auto scale = [&] {
    return PlotNamed(ExchangePlots({run, dense}), "Bytes up").y_scale;
  };
  for (IterationRow& row : dense.iterations) row.bytes_up *= 19;
  EXPECT_EQ(scale(), PlotScale::kLinear);
  for (IterationRow& row : dense.iterations) row.bytes_up *= 2;
  EXPECT_EQ(scale(), PlotScale::kLogarithmic);
}

// A run that has the values of the one before would otherwise hide it.
TEST(ExchangePlotsTest, RunsOneAfterTheOtherHaveOtherDashes) {
  std::vector<RunRecords> runs;
  for (int i = 0; i <= kNumPlotColors; ++i) runs.push_back(RunOf("topk", 40));
  const std::vector<Plot> plots = ExchangePlots(runs);
  const auto& lines = PlotNamed(plots, "Bytes up").series;
  ASSERT_EQ(lines.size(), runs.size());
  EXPECT_EQ(lines[0].dash, 0);
  for (size_t i = 1; i < lines.size(); ++i) {
    EXPECT_NE(lines[i].dash, lines[i - 1].dash) << i;
  }
  // The first colour comes again, with other dashes.
  EXPECT_EQ(lines.back().color, lines[0].color);
  EXPECT_NE(lines.back().dash, lines[0].dash);
}

TEST(ExchangePlotsTest, BothDirectionsAreShown) {
  const std::vector<Plot> plots = ExchangePlots({RunOf("topk", 40)});
  EXPECT_EQ(PlotNamed(plots, "Bytes up").series[0].points.back().y, 40000);
  EXPECT_EQ(PlotNamed(plots, "Bytes down").series[0].points.back().y, 20000);
}

TEST(ExchangePlotsTest, ThroughputIsThatOfEachIteration) {
  RunRecords run = RunOf("topk", 3);
  run.iterations[2].seconds += 0.75;  // It takes 1 s.
  const Plot plot = PlotNamed(ExchangePlots({run}), "Throughput");
  ASSERT_EQ(plot.series[0].points.size(), 2u);
  EXPECT_DOUBLE_EQ(plot.series[0].points[0].y, 256);
  EXPECT_DOUBLE_EQ(plot.series[0].points[1].y, 64);
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
    return PlotNamed(plots, title).series[0].points.back();
  };
  EXPECT_EQ(last_of("Training loss").x, 40);
  EXPECT_EQ(last_of("Training loss by bytes").x, 60000);
  EXPECT_EQ(last_of("Training loss by time").x, 10);
  EXPECT_EQ(last_of("Test accuracy").x, 40);
  EXPECT_EQ(last_of("Test accuracy by bytes").x, 40000);
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
      AllOf(HasSubstr("| topk 0.01 | lenet5 (topk, fp32, ratio 0.01) | 97.12 % "
                      "(test accuracy) | 20m 35s (40 iterations) | "),
            HasSubstr("| a\\|b c | runs/topk | 61,706 | 2 × 3 | 40 | 0.05 |"),
            HasSubstr("| 0.01 | 0.0125 | 1.020 | 100.0 % |")));
}

}  // namespace
}  // namespace ps
