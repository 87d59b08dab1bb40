// What `gradsieve train --tensorboard` writes, read by tests/tools/read_events,
// which shares no code with it.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

constexpr char kJob[] = R"(
  name: "short"
  model { name: "mlp" mlp { hidden_units: 8 } }
  data { name: "digits" digits { train_examples: 200 test_examples: 50 } }
  training { batch_size: 10 epochs: 2 bucket_megabytes: 0.0003 }
  compressor { name: "topk" ratio: 0.01 }
  worker_optimizer { name: "momentum" learning_rate: 0.05 }
  schedule { name: "cosine" warmup_updates: 4 }
  cluster { num_workers: 2 num_servers: 1 }
)";

class TensorBoardFiles : public CommandTest {
 protected:
  TensorBoardFiles() { std::ofstream(Path("job.textproto")) << kJob; }

  json Read(const std::string& run) {
    TestProcess reader({ProgramPath("tests/tools/read_events"), Path(run)},
                       Path("events.json"));
    EXPECT_EQ(reader.WaitForExit(absl::Seconds(60)), 0) << reader.Output();
    return json::parse(reader.Output(), nullptr, /*allow_exceptions=*/false);
  }

  // The lines of metrics.jsonl with this event.
  std::vector<json> Records(const std::string& run, const std::string& event) {
    std::istringstream lines(*ReadFile(Path(run + "/metrics.jsonl")));
    std::vector<json> records;
    for (std::string line; std::getline(lines, line);) {
      records.push_back(json::parse(line));
      if (records.back()["event"] != event) records.pop_back();
    }
    return records;
  }
};

TEST_F(TensorBoardFiles, HaveTheNumbersOfTheRunsRecords) {
  ASSERT_EQ(Gradsieve({"train", Path("job.textproto"), "--tensorboard",
                       "--run-dir=" + Path("run")}),
            0)
      << output();
  const json events = Read("run");
  ASSERT_TRUE(events.is_object());
  EXPECT_EQ(events["versions"], json::array({"brain.Event:2"}));
  const json& scalars = events["scalars"];
  const std::vector<json> iterations = Records("run", "iteration");
  ASSERT_EQ(iterations.size(), 20u);
  for (const json& record : iterations) {
    const std::string step = absl::StrCat(record["iteration"].get<int>());
    for (const auto& [tag, field] :
         {std::pair("training/loss", "training_loss"),
          {"training/samples_per_second", "samples_per_second"},
          {"bytes/up", "bytes_up"},
          {"bytes/down", "bytes_down"},
          {"compression/achieved_ratio", "iteration_achieved_ratio"},
          {"threshold/bucket_0", "threshold"}}) {
      EXPECT_EQ(scalars[tag][step].get<float>(), record[field].get<float>())
          << tag << " at " << step;
    }
  }
  EXPECT_FLOAT_EQ(scalars["training/learning_rate"]["1"], 0.05 / 4);
  EXPECT_LT(scalars["training/learning_rate"]["20"], 0.002);
  EXPECT_EQ(scalars["norm/residual"]["11"].get<float>(),
            iterations[10]["residual_norm"].get<float>());
  EXPECT_GT(scalars["norm/gradient"]["11"], 0);
  for (const json& record : Records("run", "evaluation")) {
    const std::string step = absl::StrCat(record["iteration"].get<int>());
    EXPECT_EQ(scalars["test/accuracy"][step].get<float>(),
              record["test_accuracy"].get<float>());
  }
}

// Also that from which the run went on.
TEST_F(TensorBoardFiles, HaveEachStepOfARunThatWentOn) {
  ASSERT_EQ(
      Gradsieve({"train", Path("job.textproto"), "--tensorboard",
                 "--set=schedule.name=constant",
                 "--set=schedule.warmup_updates=0", "--set=checkpoint.every=10",
                 "--run-dir=" + Path("run")}),
      0)
      << output();
  ASSERT_EQ(Gradsieve({"train", "--resume", Path("run"), "--tensorboard",
                       "--set=training.epochs=3"}),
            0)
      << output();
  const json events = Read("run");
  ASSERT_TRUE(events.is_object());
  const json& losses = events["scalars"]["training/loss"];
  EXPECT_EQ(losses.size(), 30u);
  for (int step = 1; step <= 30; ++step) {
    EXPECT_TRUE(losses.contains(absl::StrCat(step))) << step;
  }
  for (const char* const step : {"10", "20", "30"}) {
    EXPECT_TRUE(events["scalars"]["test/accuracy"].contains(step)) << step;
  }
}

TEST_F(TensorBoardFiles, HistogramsEndAtTheThreshold) {
  ASSERT_EQ(Gradsieve({"train", Path("job.textproto"), "--tensorboard",
                       "--run-dir=" + Path("run")}),
            0)
      << output();
  const json events = Read("run");
  ASSERT_TRUE(events.is_object());
  double elements = 0;
  int num_buckets = 0;
  while (events["histograms"].contains(
      absl::StrCat("residual/bucket_", num_buckets))) {
    const std::string bucket = absl::StrCat("bucket_", num_buckets++);
    for (const char* step : {"10", "20"}) {
      const json& kept = events["histograms"]["residual/" + bucket][step];
      const double threshold = events["scalars"]["threshold/" + bucket][step];
      const std::vector<double> limits = kept["bucket_limit"];
      const std::vector<double> counts = kept["bucket"];
      ASSERT_EQ(limits.size(), counts.size());
      EXPECT_TRUE(std::is_sorted(limits.begin(), limits.end()));
      double within = 0;
      bool has_threshold = false;
      for (size_t i = 0; i < limits.size(); ++i) {
        if (limits[i] > -threshold && limits[i] <= threshold) {
          within += counts[i];
        }
        has_threshold = has_threshold || limits[i] == threshold;
      }
      EXPECT_TRUE(has_threshold) << threshold;
      // Larger ones were sent.
      EXPECT_EQ(within, kept["num"].get<double>());
      EXPECT_LE(kept["max"].get<double>(), threshold);
    }
    elements +=
        events["histograms"]["gradient/" + bucket]["20"]["num"].get<double>();
  }
  EXPECT_EQ(num_buckets, 2);
  EXPECT_EQ(elements, 6370) << "28 x 28 x 8 + 8 + 8 x 10 + 10";
}

}  // namespace
}  // namespace ps
