// `gradsieve report` as a process, on a run that a job has just recorded.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kJob[] = R"(
  name: "short"
  model { name: "mlp" mlp { hidden_units: 8 } }
  data { name: "digits" digits { train_examples: 200 test_examples: 50 } }
  training { batch_size: 8 max_iterations: 3 dump_gradients { every: 1 } }
  cluster { num_workers: 1 num_servers: 1 }
)";

class ReportCommand : public CommandTest {
 protected:
  ReportCommand() { std::ofstream(Path("job.textproto")) << kJob; }

  int Train(const std::string& compressor, const std::string& run = "run") {
    return Gradsieve({"train", Path("job.textproto"), "--run-dir=" + Path(run),
                      "--set=compressor.name=" + compressor});
  }

  int Report() { return Gradsieve({"report", Path("run"), "--markdown"}); }
};

TEST_F(ReportCommand, ARunWithoutATargetRatioIsComparedWithNone) {
  ASSERT_EQ(Train("none"), 0) << output();
  const std::string metrics = *ReadFile(Path("run/metrics.jsonl"));
  const auto start =
      nlohmann::json::parse(metrics.substr(0, metrics.find('\n')));
  EXPECT_TRUE(start.at("target_ratio").is_null());
  const auto summary =
      nlohmann::json::parse(*ReadFile(Path("run/summary.json")));
  EXPECT_TRUE(summary.at("target_ratio").is_null());
  ASSERT_EQ(Report(), 0) << output();
  EXPECT_THAT(output(), AllOf(HasSubstr("| none | mlp (none, fp32) | "),
                              HasSubstr(" | short | "), HasSubstr("| 6,370 |"),
                              HasSubstr("| – | 1 | – | – |")));
  const std::string page = *ReadFile(Path("run/report.html"));
  EXPECT_THAT(page, AllOf(HasSubstr("Last dumped gradient of none"),
                          HasSubstr("SIDCo fits residual + gradient"),
                          Not(HasSubstr("\"ratio\":{"))));
}

TEST_F(ReportCommand, ADumpThatIsDamagedIsNamedWithWhatToDo) {
  ASSERT_EQ(Train("topk"), 0) << output();
  ASSERT_EQ(Report(), 0) << output();
  EXPECT_THAT(output(),
              HasSubstr("| topk 0.01 | mlp (topk, fp32, ratio 0.01) |"));
  std::ofstream(Path("run/gradients/gradients.npy")) << "damaged";
  EXPECT_EQ(Report(), 78);
  EXPECT_THAT(output(), AllOf(HasSubstr("gradsieve report: "),
                              HasSubstr("gradients/gradients.npy"),
                              HasSubstr("; move it away to draw the rest")));
  std::filesystem::remove(Path("run/gradients/gradients.npy"));
  EXPECT_EQ(Report(), 0) << output();
}

TEST_F(ReportCommand, CompareGivesEachRunARowWithRatiosToTheFirst) {
  ASSERT_EQ(Train("none", "dense"), 0) << output();
  ASSERT_EQ(Train("topk", "few"), 0) << output();
  ASSERT_EQ(Gradsieve({"compare", Path("dense"), Path("few")}), 0) << output();
  EXPECT_THAT(output(), AllOf(HasSubstr("test accuracy"), HasSubstr(" (1) "),
                              HasSubstr("topk 0.01")));
  ASSERT_EQ(Gradsieve({"compare", Path("dense"), Path("few"), "--json"}), 0);
  const auto json = nlohmann::json::parse(output());
  ASSERT_EQ(json.size(), 2u);
  for (const char* measure :
       {"seconds", "samples_per_second", "bytes_up", "bytes_down"}) {
    EXPECT_EQ(json[0]["relative_to_first"][measure], 1) << measure;
    EXPECT_DOUBLE_EQ(
        json[1]["relative_to_first"][measure],
        json[1][measure].get<double>() / json[0][measure].get<double>());
  }
  const auto summary =
      nlohmann::json::parse(*ReadFile(Path("few/summary.json")));
  EXPECT_EQ(json[1]["result"], summary["test_accuracy"]);
  EXPECT_EQ(json[1]["bytes_down"], summary["bytes_down"]);
  EXPECT_LT(json[1]["relative_to_first"]["bytes_up"], 0.5);
  EXPECT_EQ(Gradsieve({"compare", Path("dense"), Path("nowhere")}), 78);
  EXPECT_THAT(output(), HasSubstr("nowhere is not the directory of a run"));
}

}  // namespace
}  // namespace ps
