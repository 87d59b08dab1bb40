// What a worker is said to take, and what it then takes.
#include <sys/types.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cluster/test_process.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kBound = absl::Seconds(200);

struct MemoryCase {
  std::string name;
  std::string job;
};

class WorkerMemory : public CommandTest,
                     public testing::WithParamInterface<MemoryCase> {};

// AddressSanitizer and ThreadSanitizer take memory of their own.
TEST_P(WorkerMemory, IsWhatWasSaidWithinAFactor) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr double kLeast = 0.5, kMost = 20;
#else
  constexpr double kLeast = 0.7, kMost = 1.4;
#endif
  const std::string job = Path("job.textproto");
  std::ofstream(job) << GetParam().job
                     << "cluster { num_workers: 1 num_servers: 1 }\n";
  ASSERT_EQ(Gradsieve({"plan-memory", job, "--worker", "--json"}), 0)
      << output();
  const auto said = nlohmann::json::parse(output());
  const std::string run = Path("run");
  TestProcess train(
      {ProgramPath("tools/gradsieve"), "train", job, "--run-dir=" + run},
      Path("log"));
  const std::string worker =
      absl::StrCat("worker --config=", run, "/job.textproto --rank=0");
  // The peak only grows, so that the last look is the best.
  int64_t peak = 0;
  ASSERT_TRUE(WaitFor(kBound, [&] {
    for (const pid_t pid : ProcessesWith(worker)) {
      peak = std::max(peak, PeakMemoryOf(pid));
    }
    return absl::StrContains(train.Output(), "The run is in ");
  })) << train.Output();
  EXPECT_EQ(train.WaitForExit(kBound), 0);
  const double ratio =
      static_cast<double>(peak) / said.at("total_bytes").get<double>();
  EXPECT_GT(ratio, kLeast) << peak << " bytes of " << said;
  EXPECT_LT(ratio, kMost) << peak << " bytes of " << said;
  std::printf("%s: %.2f of %s\n", GetParam().name.c_str(), ratio,
              said.dump().c_str());
}

INSTANTIATE_TEST_SUITE_P(Jobs, WorkerMemory,
                         testing::Values(MemoryCase{"small", R"(
          name: "small"
          model { name: "mlp" mlp { hidden_units: 8 } }
          data { name: "digits" digits { train_examples: 200 test_examples: 50 } }
          training { batch_size: 8 epochs: 10 max_iterations: 300 }
        )"},
                                         MemoryCase{"middle", R"(
          name: "middle"
          model { name: "mlp" mlp { hidden_units: 2000 hidden_units: 2000 } }
          data { name: "digits" digits { train_examples: 2000 test_examples: 500 } }
          training { batch_size: 32 epochs: 1 max_iterations: 12 }
          compressor { name: "sidco_e" ratio: 0.01 }
          worker_optimizer { name: "momentum" learning_rate: 0.01 }
          checkpoint { every: 4 }
        )"},
                                         MemoryCase{"convolutions", R"(
          name: "convolutions"
          model { name: "lenet5" }
          data { name: "digits" digits { train_examples: 4000 test_examples: 500 } }
          training { batch_size: 512 epochs: 1 }
        )"},
                                         MemoryCase{"lstm", R"(
          name: "lstm"
          model { name: "lstm_lm" lstm_lm { hidden: 300 } }
          data { name: "phrases" text { steps: 20 } }
          training { batch_size: 64 epochs: 1 max_iterations: 8 }
          compressor { name: "topk" ratio: 0.01 }
        )"}),
                         [](const auto& info) { return info.param.name; });

class KilledWorker : public CommandTest {};

TEST_F(KilledWorker, IsNamedWithTheMemoryThatItTakes) {
  const std::string job = Path("job.textproto");
  std::ofstream(job) << R"(
    name: "endless"
    model { name: "mlp" mlp { hidden_units: 8 } }
    data { name: "digits" digits { train_examples: 200 test_examples: 50 } }
    training { batch_size: 8 epochs: 1000000 }
    checkpoint { every: 0 }
    cluster { num_workers: 1 num_servers: 1 }
  )";
  TestProcess train({ProgramPath("tools/gradsieve"), "train", job,
                     "--run-dir=" + Path("run")},
                    Path("log"));
  const std::string worker =
      absl::StrCat("worker --config=", Path("run"), "/job.textproto --rank=0");
  std::vector<pid_t> pids;
  ASSERT_TRUE(WaitFor(kBound, [&] {
    pids = ProcessesWith(worker);
    return pids.size() == 1;
  })) << train.Output();
  ASSERT_EQ(kill(pids[0], SIGKILL), 0);
  EXPECT_EQ(train.WaitForExit(kBound), 75) << train.Output();
  EXPECT_THAT(train.Output(),
              HasSubstr("(dmesg says so); a worker takes about "));
}

}  // namespace
}  // namespace ps
