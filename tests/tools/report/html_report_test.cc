#include "tools/report/html_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "common/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitoring/plots/plot_files.h"
#include "nlohmann/json.hpp"
#include "tools/report/plot_data.h"
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

// What the page's script reads.
Json DataOf(const std::string& html) {
  const std::string begin = "id='data'>";
  const size_t at = html.find(begin) + begin.size();
  return ParseJson(html.substr(at, html.find("</script>", at) - at));
}

Json Iterations(const RunRecords& run) {
  return RunPlotData(run, "")["iterations"];
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
  const std::string html = HtmlReport({RunOf("sidco_e", 40)}, Json::array());
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
  const std::string html = absl::StrReplaceAll(
      HtmlReport({RunOf("sidco_e", 40), RunOf("sidco_p", 30)}, Json::array()),
      // It names its author.
      {{kUplotJs, ""}});
  for (const char* fetch :
       {"http:", "https:", "src=", "href=", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(fetch)));
  }
  EXPECT_THAT(html, AllOf(HasSubstr("prefers-color-scheme: dark"),
                          HasSubstr("content=\"default-src 'none';"),
                          HasSubstr("<noscript>")));
}

TEST(HtmlReportTest, ThePageHasTheDataOfEveryRunAndMorePlots) {
  const Json more =
      Json::array({{{"title", "tail"}, {"lines", Json::array()}}});
  const Json data =
      DataOf(HtmlReport({RunOf("sidco_e", 40), RunOf("sidco_p", 30)}, more));
  ASSERT_EQ(data["runs"].size(), 2u);
  EXPECT_EQ(data["runs"][0], RunPlotData(RunOf("sidco_e", 40), "sidco_e 0.01"));
  EXPECT_EQ(data["runs"][1]["label"], "sidco_p 0.01");
  EXPECT_EQ(data["plots"], more);
}

TEST(HtmlReportTest, WithoutATargetNothingIsComparedWithIt) {
  RunRecords run = RunOf("threshold", 40);
  run.target_ratio = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(MarkdownReport({run}),
              AllOf(HasSubstr("| lenet5 (threshold, fp32) |"),
                    HasSubstr("| – | 0.0125 | – | – |")));
  const Json iterations = Iterations(run);
  EXPECT_FALSE(iterations.contains("ratio"));
  EXPECT_TRUE(iterations.contains("stages"));
}

TEST(HtmlReportTest, WhatAutoCompressedIsShown) {
  RunRecords run = RunOf("auto", 40);
  for (IterationRow& row : run.iterations) row.compressed_share = 0.5;
  run.compressed_share = 0.625;
  const std::string html = HtmlReport({run, RunOf("none", 40)}, Json::array());
  EXPECT_THAT(html, HasSubstr("<th>compressed by auto</th><td>62.5 %<"));
  const Json data = DataOf(html);
  EXPECT_EQ(data["runs"][0]["iterations"]["compressed_share"]["y"][7], 0.5);
  EXPECT_FALSE(data["runs"][1]["iterations"].contains("compressed_share"));
}

TEST(HtmlReportTest, RunsCanHaveDifferentMetrics) {
  RunRecords words = RunOf("sidco_e", 40);
  words.metric = "test_perplexity";
  words.evaluations = {{40, 84.5}};
  const std::string html =
      HtmlReport({RunOf("none", 40), words}, Json::array());
  EXPECT_THAT(html, HasSubstr(">97.12 %<small>test accuracy<"));
  EXPECT_THAT(html, HasSubstr(">84.5000<small>test perplexity<"));
  const Json runs = DataOf(html)["runs"];
  EXPECT_EQ(runs[0]["metric"], "test accuracy");
  EXPECT_EQ(runs[0]["is_fraction"], true);
  EXPECT_EQ(runs[1]["metric"], "test perplexity");
  EXPECT_EQ(runs[1]["is_fraction"], false);
}

TEST(HtmlReportTest, ARunThatHasOnlyStartedHasATableAndNoPlots) {
  RunRecords run;
  run.job = "empty";
  run.target_ratio = run.seconds = run.achieved_ratio = run.bytes_up =
      run.bytes_down = run.samples_per_second = run.dense_bytes_up =
          run.dense_bytes_down = std::numeric_limits<double>::quiet_NaN();
  const std::string html = HtmlReport({run}, Json::array());
  EXPECT_THAT(html, HasSubstr(">empty<"));
  EXPECT_THAT(html, HasSubstr(">–<"));
  EXPECT_THAT(html, Not(HasSubstr(">nan")));
  EXPECT_TRUE(DataOf(html)["runs"][0]["iterations"].empty());
}

TEST(HtmlReportTest, ARecordMayCoverSeveralIterations) {
  RunRecords run = RunOf("sidco_e", 5);
  for (IterationRow& row : run.iterations) row.iteration *= 8;
  EXPECT_THAT(HtmlReport({run}, Json::array()), Not(HasSubstr(" of 40<")));
  run.total_iterations = 48;
  EXPECT_THAT(HtmlReport({run}, Json::array()), HasSubstr(">40 of 48<"));
}

TEST(HtmlReportTest, TheHeadingNamesAFewJobsAndCountsMany) {
  std::vector<RunRecords> runs;
  for (const char* job : {"a", "b", "c"}) {
    runs.push_back(RunOf("topk", 3));
    runs.back().job = job;
  }
  EXPECT_THAT(HtmlReport(runs, Json::array()), HasSubstr("<h1>a, b, c</h1>"));
  runs.push_back(RunOf("topk", 3));
  EXPECT_THAT(HtmlReport(runs, Json::array()), HasSubstr("<h1>4 runs</h1>"));
}

TEST(HtmlReportTest, TextOfTheRunIsEscaped) {
  RunRecords run = RunOf("sidco_e", 3);
  run.job = run.model = run.compressor = run.directory =
      "<!--<script></script><script>alert('x')</script>";
  const std::string html = HtmlReport({run, run}, Json::array());
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<!--")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)"));
  EXPECT_EQ(DataOf(html)["runs"][1]["label"], run.directory);
  // The data, uPlot and our two scripts.
  int ends = 0;
  for (size_t at = 0; (at = html.find("</script", at)) != std::string::npos;
       ++at) {
    ++ends;
  }
  EXPECT_EQ(ends, 4);
}

TEST(RunPlotData, ValuesHaveTheirPlacesByIterationsTimeAndBytes) {
  const Json data = RunPlotData(RunOf("topk", 40), "a label");
  EXPECT_EQ(data["label"], "a label");
  const Json& iterations = data["iterations"];
  EXPECT_EQ(iterations["iteration"]["y"].back(), 40);
  EXPECT_EQ(iterations["seconds"]["y"].back(), 10);
  EXPECT_EQ(iterations["bytes"]["y"].back(), 60000);
  EXPECT_EQ(iterations["training_loss"]["y"].size(), 40u);
  EXPECT_EQ(iterations["training_loss"]["y"].back(), 0.05);
  EXPECT_FALSE(iterations["training_loss"].contains("low"));
  EXPECT_EQ(iterations["bytes_up"]["y"].back(), 40000);
  EXPECT_EQ(iterations["bytes_down"]["y"].back(), 20000);
  EXPECT_EQ(iterations["ratio"]["y"][0], 1.02);
  const Json& evaluations = data["evaluations"];
  EXPECT_EQ(evaluations["iteration"]["y"], Json::array({40}));
  EXPECT_EQ(evaluations["seconds"]["y"], Json::array({10}));
  EXPECT_EQ(evaluations["bytes"]["y"], Json::array({40000}));
  EXPECT_EQ(evaluations["value"]["y"], Json::array({0.9712}));
  EXPECT_EQ(evaluations["loss"]["y"], Json::array({0.5}));
}

TEST(RunPlotData, ThroughputIsThatOfEachIteration) {
  RunRecords run = RunOf("topk", 3);
  run.iterations[2].seconds += 0.75;  // It takes 1 s.
  EXPECT_EQ(Iterations(run)["throughput"]["y"],
            Json::array({nullptr, 256, 64}));
}

TEST(RunPlotData, OneIterationHasNoThroughput) {
  const Json iterations = Iterations(RunOf("topk", 1));
  EXPECT_EQ(iterations["training_loss"]["y"], Json::array({2}));
  EXPECT_FALSE(iterations.contains("throughput"));
}

TEST(RunPlotData, WhatIsNoNumberLeavesAGapAndNothingNoColumn) {
  RunRecords run = RunOf("topk", 3);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    for (IterationRow& row : run.iterations) row.residual_norm = bad;
    run.iterations[1].training_loss = bad;
    const Json iterations = Iterations(run);
    EXPECT_TRUE(iterations["training_loss"]["y"][1].is_null());
    EXPECT_EQ(iterations["training_loss"]["y"][0], 2);
    EXPECT_FALSE(iterations.contains("residual_norm"));
  }
}

TEST(RunPlotData, NothingThatIsKeptIsNoResidual) {
  RunRecords run = RunOf("topk", 3);
  for (IterationRow& row : run.iterations) row.residual_norm = 0;
  EXPECT_FALSE(Iterations(run).contains("residual_norm"));
  for (IterationRow& row : run.iterations) row.residual_norm.reset();
  EXPECT_FALSE(Iterations(run).contains("residual_norm"));
}

// Values 0, 1, ..., 99 over and over, and one that is far away.
TEST(RunPlotData, ManyPointsBecomeMediansBetweenTheirQuartiles) {
  RunRecords run = RunOf("topk", 100 * kMostPoints);
  for (size_t i = 0; i < run.iterations.size(); ++i) {
    run.iterations[i].training_loss = static_cast<double>(i % 100);
  }
  run.iterations[4500].training_loss = 1e6;
  const Json iterations = Iterations(run);
  ASSERT_EQ(iterations["iteration"]["y"].size(), size_t{kMostPoints});
  EXPECT_EQ(iterations["iteration"]["y"][1], 150.5);
  const Json& loss = iterations["training_loss"];
  for (size_t i = 0; i < kMostPoints; ++i) {
    EXPECT_NEAR(loss["y"][i], 49.5, 1.1);
    EXPECT_NEAR(loss["low"][i], 24.75, 1.1);
    EXPECT_NEAR(loss["high"][i], 74.25, 1.1);
  }
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
