// `gradsieve checkpoint` and `gradsieve train --resume` as processes.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/file.h"
#include "common/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/log/server_log.h"
#include "storage/files.h"
#include "storage/record_log.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kJob[] = R"(
  name: "short"
  model { name: "mlp" mlp { hidden_units: 8 } }
  data { name: "digits" digits { train_examples: 200 test_examples: 50 } }
  training { batch_size: 8 epochs: 10 max_iterations: 25 }
  checkpoint { every: 10 }
  cluster { num_workers: 1 num_servers: 1 }
)";

class CheckpointCommand : public CommandTest {
 protected:
  CheckpointCommand() { std::ofstream(Path("job.textproto")) << kJob; }

  void Train() {
    ASSERT_EQ(
        Gradsieve({"train", Path("job.textproto"), "--run-dir=" + Path("run")}),
        0)
        << output();
  }
};

TEST_F(CheckpointCommand, ShowsChecksAndExports) {
  Train();
  ASSERT_EQ(Gradsieve({"checkpoint", "list", Path("run")}), 0) << output();
  EXPECT_THAT(output(), AllOf(HasSubstr("10 "), HasSubstr("20 "),
                              testing::Not(HasSubstr("missing"))));
  ASSERT_EQ(Gradsieve({"checkpoint", "list", "--json", Path("run")}), 0);
  const Json list = ParseJson(output());
  ASSERT_EQ(list.size(), 2u) << output();
  for (const Json& snapshot : list) {
    EXPECT_EQ(snapshot["processes"], 2);
    EXPECT_GT(snapshot["size_bytes"], 1000);
    EXPECT_TRUE(snapshot["missing"].empty());
    EXPECT_TRUE(snapshot["damaged"].empty());
  }
  EXPECT_EQ(Gradsieve({"checkpoint", "blame", Path("run")}), 64);
  EXPECT_THAT(output(), HasSubstr("give --iteration=N"));
  ASSERT_EQ(Gradsieve({"checkpoint", "verify", Path("run")}), 0) << output();
  EXPECT_THAT(output(), HasSubstr("snapshot 20 is whole"));
  ASSERT_EQ(Gradsieve({"checkpoint", "inspect", Path("run")}), 0) << output();
  EXPECT_THAT(output(), AllOf(HasSubstr("Snapshot 20"), HasSubstr("slice-0-0"),
                              HasSubstr("tensors")));
  ASSERT_EQ(Gradsieve({"checkpoint", "export", Path("run"), Path("weights"),
                       "--number=20"}),
            0)
      << output();
  EXPECT_EQ(fs::file_size(Path("weights")),
            fs::file_size(Path("run/weights.safetensors")));
  EXPECT_EQ(Gradsieve({"checkpoint", "export", Path("run"), Path("weights"),
                       "--number=21"}),
            78);
  EXPECT_THAT(output(),
              HasSubstr("there is no snapshot 21; known are: 20, 10"));
  EXPECT_EQ(Gradsieve({"checkpoint", "list", Path("nowhere")}), 78);
  EXPECT_THAT(output(), HasSubstr("nowhere"));
}

// One bit of what a worker pushed differs from what it would push again: that
// worker's memory was wrong, or its processor.
TEST_F(CheckpointCommand, BlameFindsTheWorkerThatPushedOtherBits) {
  ASSERT_EQ(
      Gradsieve({"train", Path("job.textproto"), "--run-dir=" + Path("run"),
                 "--set=compressor.name=none", "--set=cluster.num_workers=2"}),
      0)
      << output();
  ASSERT_EQ(Gradsieve({"checkpoint", "blame", Path("run"), "--iteration=17"}),
            0)
      << output();
  EXPECT_THAT(output(), HasSubstr("repeated from snapshot 10: all workers have "
                                  "pushed what follows from their inputs"));
  EXPECT_EQ(Gradsieve({"checkpoint", "blame", Path("run"), "--iteration=9"}),
            78);
  EXPECT_THAT(output(), HasSubstr("no whole snapshot comes before iteration 9"
                                  "; iterations can be repeated from these on: "
                                  "10, 20"));
  EXPECT_EQ(Gradsieve({"checkpoint", "blame", Path("run"), "--iteration=25"}),
            78);
  EXPECT_THAT(output(), HasSubstr("have iterations 20 to 24, not 25"));

  const std::string folder = Path("run/checkpoints/server-0-of-1");
  std::string path;
  const auto segments = ListLogSegments(Files::Real(), folder);
  ASSERT_TRUE(segments.ok()) << segments.status();
  for (const LogSegment& segment : *segments) {
    if (segment.number == 10) path = segment.path;
  }
  // The last record that an update makes has the last worker's payload at its
  // end: values in fp32.
  std::vector<std::string> records;
  {
    const auto log = RecordLogReader::Open(Files::Real(), path);
    ASSERT_TRUE(log.ok()) << log.status();
    for (const absl::string_view record : log->records()) {
      records.emplace_back(record);
    }
  }
  std::string& changed = records[records.size() / 2];
  changed[changed.size() - 4] ^= 1;
  fs::remove(path);
  auto log = RecordLogWriter::Create(Files::Real(), path);
  ASSERT_TRUE(log.ok()) << log.status();
  for (const std::string& record : records) {
    ASSERT_TRUE(log->Append({record}).ok());
  }
  EXPECT_EQ(Gradsieve({"checkpoint", "blame", Path("run"), "--iteration=19"}),
            1);
  EXPECT_THAT(output(), AllOf(HasSubstr(": in iteration 1"),
                              HasSubstr(", worker 1 (1 of 4 slices) pushed "
                                        "other bits than what follows")));
}

TEST_F(CheckpointCommand, DamageIsNamed) {
  Train();
  const std::string part = Path("run/checkpoints/worker-0/snapshot-20/state");
  fs::resize_file(part, fs::file_size(part) - 1);
  fs::remove_all(Path("run/checkpoints/server-0-of-1/snapshot-10"));
  EXPECT_EQ(Gradsieve({"checkpoint", "verify", Path("run")}), 78);
  EXPECT_THAT(
      output(),
      AllOf(HasSubstr(part + " is damaged"),
            HasSubstr("10 is whole, but has no part here of server-0-of-1")));
  for (const auto& entry :
       fs::directory_iterator(Path("run/checkpoints/server-0-of-1"))) {
    const std::string log = entry.path().string();
    if (log.find("/log-20-") == std::string::npos) continue;
    std::fstream file(log, std::ios::in | std::ios::out);
    ASSERT_TRUE(file.seekp(50) && file.put('x') && file.flush());
    EXPECT_EQ(Gradsieve({"checkpoint", "verify", Path("run")}), 78);
    EXPECT_THAT(output(), HasSubstr(log + " is damaged"));
  }
  EXPECT_EQ(Gradsieve({"checkpoint", "verify", Path("run"), "--number=7"}), 78);
  EXPECT_THAT(output(), HasSubstr("there is no snapshot 7"));
  EXPECT_EQ(Gradsieve({"checkpoint", "list", Path("run")}), 0);
  EXPECT_THAT(output(), HasSubstr("missing: server-0-of-1"));
}

TEST_F(CheckpointCommand, ARunTrainsForLonger) {
  const auto train = [this](const std::string& run, int iterations) {
    return Gradsieve(
        {"train", Path("job.textproto"), "--run-dir=" + Path(run),
         absl::StrCat("--set=training.max_iterations=", iterations)});
  };
  Train();
  ASSERT_EQ(train("longer", 40), 0) << output();
  const std::string weights = *ReadFile(Path("longer/weights.safetensors"));
  EXPECT_NE(*ReadFile(Path("run/weights.safetensors")), weights);
  EXPECT_EQ(Gradsieve({"train", "--resume", Path("run"),
                       "--set=training.max_iterations=10"}),
            1);
  EXPECT_THAT(output(), HasSubstr("is complete; to train it for longer, give "
                                  "--set training.epochs=N"));
  ASSERT_EQ(Gradsieve({"train", "--resume", Path("run"),
                       "--set=training.max_iterations=40"}),
            0)
      << output();
  EXPECT_EQ(*ReadFile(Path("run/weights.safetensors")), weights);
  EXPECT_THAT(*ReadFile(Path("run/job.textproto")),
              HasSubstr("max_iterations: 40"));
  // With a schedule that ends with the training it would be another one.
  ASSERT_EQ(
      Gradsieve({"train", Path("job.textproto"), "--run-dir=" + Path("cosine"),
                 "--set=schedule.name=cosine"}),
      0)
      << output();
  EXPECT_EQ(Gradsieve({"train", "--resume", Path("cosine"),
                       "--set=training.max_iterations=40"}),
            78);
  EXPECT_THAT(output(),
              AllOf(HasSubstr("this run cannot train for longer: its learning "
                              "rate falls to its end at the last update"),
                    HasSubstr("model.initial_weights=" + Path("cosine") +
                              "/weights.safetensors")));
  EXPECT_TRUE(fs::exists(Path("cosine/summary.json")));
  ASSERT_EQ(
      Gradsieve({"train", Path("job.textproto"), "--set=checkpoint.every=500",
                 "--run-dir=" + Path("short")}),
      0)
      << output();
  EXPECT_EQ(Gradsieve({"train", "--resume", Path("short"),
                       "--set=training.max_iterations=40"}),
            78);
  EXPECT_THAT(output(),
              AllOf(HasSubstr("was too short for a snapshot (checkpoint.every "
                              "is 500)"),
                    HasSubstr("model.initial_weights=" + Path("short") +
                              "/weights.safetensors")));
}

TEST_F(CheckpointCommand, ARunGoesOnFromItsLatestSnapshot) {
  Train();
  const std::string weights = *ReadFile(Path("run/weights.safetensors"));
  EXPECT_EQ(Gradsieve({"train", "--resume", Path("run")}), 1);
  EXPECT_THAT(output(), HasSubstr("is complete"));
  fs::remove(Path("run/summary.json"));
  fs::remove(Path("run/weights.safetensors"));
  ASSERT_EQ(Gradsieve({"train", "--resume", Path("run")}), 0) << output();
  EXPECT_THAT(output(), HasSubstr("goes on after push 20"));
  EXPECT_EQ(*ReadFile(Path("run/weights.safetensors")), weights);
  fs::remove(Path("run/summary.json"));
  {
    const auto lock =
        Files::Real()->Lock(Path("run/checkpoints/worker-0/lock"));
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(Gradsieve({"train", "--resume", Path("run")}), 1);
    EXPECT_THAT(output(), HasSubstr("another process has locked " +
                                    Path("run/checkpoints/worker-0/lock")));
  }
  ASSERT_EQ(Gradsieve({"train", "--resume", Path("run"),
                       "--set=cluster.num_servers=3"}),
            0)
      << output();
  EXPECT_EQ(*ReadFile(Path("run/weights.safetensors")), weights);
  EXPECT_FALSE(fs::exists(Path("run/checkpoints/server-0-of-1")));
  EXPECT_EQ(Gradsieve({"checkpoint", "reshard", Path("run")}), 64);
  EXPECT_THAT(output(), HasSubstr("give --servers or --workers, or both"));
  EXPECT_EQ(Gradsieve({"checkpoint", "reshard", Path("run"), "--servers=257"}),
            64);
  EXPECT_THAT(output(), HasSubstr("--servers is 257; must be in [1, 256]"));
  ASSERT_EQ(Gradsieve({"checkpoint", "reshard", Path("run"), "--servers=2"}), 0)
      << output();
  EXPECT_THAT(output(), HasSubstr("from 3 to 2 servers: 10, 20"));
  ASSERT_EQ(Gradsieve({"checkpoint", "list", Path("run")}), 0) << output();
  EXPECT_THAT(output(), testing::Not(HasSubstr("missing")));
  fs::remove(Path("run/summary.json"));
  ASSERT_EQ(Gradsieve({"train", "--resume", Path("run"),
                       "--set=cluster.num_workers=2"}),
            0)
      << output();
  EXPECT_THAT(output(), HasSubstr("2 workers go on where 1 were, at push 20"));
  ASSERT_EQ(Gradsieve({"checkpoint", "reshard", Path("run"), "--workers=1"}), 0)
      << output();
  EXPECT_THAT(output(), HasSubstr("from 2 to 1 workers"));
  fs::remove(Path("run/summary.json"));
  EXPECT_NE(Gradsieve({"train", "--resume", Path("run"), "--set=seed=2"}), 0);
  EXPECT_THAT(output(), HasSubstr("seed: 1 there and 2 here"));
  // The refusal has changed nothing.
  ASSERT_EQ(Gradsieve({"train", "--resume", Path("run")}), 0) << output();
  fs::remove(Path("run/summary.json"));
  fs::remove_all(Path("run/checkpoints"));
  EXPECT_NE(Gradsieve({"train", "--resume", Path("run")}), 0);
  EXPECT_THAT(output(), AllOf(HasSubstr("there is no snapshot in"),
                              HasSubstr("bring back what is missing")));
  EXPECT_NE(Gradsieve({"train", "--resume", Path("nowhere")}), 0);
  EXPECT_THAT(output(), HasSubstr("nowhere/job.textproto"));
}

}  // namespace
}  // namespace ps
