// `gradsieve advise` as a process. Predictions are compared only where no
// machine can be so slow or so fast that they change.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// 235,146 parameters: 7.5 s each way at 1 Mbit/s, dense. The warm-up, which
// sends everything, is no part of a prediction.
constexpr char kJob[] = R"(
  name: "small"
  model { name: "mlp" mlp { hidden_units: 256 hidden_units: 128 } }
  data { name: "digits" digits { train_examples: 4000 test_examples: 50 } }
  training { batch_size: 8 }
  compressor {
    name: "topk"
    ratio: 0.05
    warmup { rule: DENSE stages: 1 iterations_per_stage: 1000000 }
  }
  cluster { num_workers: 2 num_servers: 1 }
)";

// Ends a test that hangs.
constexpr absl::Duration kBound = absl::Seconds(100);

class AdviseCommand : public CommandTest {
 protected:
  AdviseCommand() { std::ofstream(Path("job.textproto")) << kJob; }

  int Advise(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"advise", Path("job.textproto"), "--turns=2"});
    return Gradsieve(arguments);
  }
};

TEST_F(AdviseCommand, RefusesABadCommandLineOrJobAndSaysWhy) {
  EXPECT_EQ(Advise({"--bandwidth=100"}), 64);
  EXPECT_THAT(output(), HasSubstr("gradsieve advise: --bandwidth is \"100\"; "
                                  "must be a number with its unit"));
  EXPECT_EQ(Advise({"--settings=topk:2"}), 64);
  EXPECT_THAT(output(), HasSubstr("--settings: \"topk:2\""));
  EXPECT_EQ(
      Advise({"--set=cluster.servers=far:1", "--set=cluster.num_servers=1"}),
      64);
  EXPECT_THAT(output(), HasSubstr("give its speed with --bandwidth"));
  EXPECT_EQ(Gradsieve({"advise", Path("job.textproto"), "--turns=0"}), 64);
  EXPECT_THAT(output(), HasSubstr("--turns is 0; must be in [1, 100]"));
  EXPECT_EQ(Advise({"--set=compressor.ratio=7"}), 78);
  EXPECT_THAT(output(), HasSubstr("compressor.ratio"));
  EXPECT_EQ(Gradsieve({"advise", Path("none.textproto")}), 78);
  EXPECT_THAT(output(), HasSubstr("none.textproto"));
  EXPECT_EQ(Advise({"--json=" + Path("no/folder.json")}), 1);
}

TEST_F(AdviseCommand, IsInTheHelp) {
  EXPECT_EQ(Gradsieve({"--help"}), 0);
  EXPECT_THAT(output(), HasSubstr("advise"));
  EXPECT_EQ(Gradsieve({"advise", "--help"}), 0);
  EXPECT_THAT(output(),
              AllOf(HasSubstr("--bandwidth"), HasSubstr("--workers-here"),
                    HasSubstr("before a run whether compression")));
}

TEST_F(AdviseCommand, OnASlowNetworkItNamesTheLinesOfACompressor) {
  ASSERT_EQ(Advise({"--bandwidth=1mbit", "--seconds=0", "--workers-here=1",
                    "--settings=none,sidco_e:0.001:int8_block",
                    "--json=" + Path("advice.json")}),
            0)
      << output();
  EXPECT_THAT(
      output(),
      AllOf(HasSubstr("small: 235,146 parameters, 2 workers, 1 server, over "
                      "links of 1.00 Mbit/s"),
            HasSubstr("measured with 1 worker"),
            HasSubstr("Use \"sidco_e:0.001:int8_block\""),
            HasSubstr("compressor { name: \"sidco_e\" ratio: 0.001")));
  const auto json = nlohmann::json::parse(*ReadFile(Path("advice.json")));
  ASSERT_THAT(json["settings"], SizeIs(2));
  const auto& none = json["settings"][0];
  // One server's link carries both workers' messages, each way.
  EXPECT_GE(none["bytes_up_per_iteration"], 2 * 4 * 235146);
  EXPECT_GE(none["up_seconds"], 15);
  EXPECT_LT(json["settings"][1]["bytes_up_per_iteration"], 235146 / 10);
  EXPECT_GE(none["seconds_per_iteration"], none["up_seconds"]);
  EXPECT_GT(none["compute_seconds"], 0);
  EXPECT_EQ(json["workers_here"], 1);
  EXPECT_THAT(none["seconds_per_iteration_by_turn"], SizeIs(2));
}

TEST_F(AdviseCommand, OnALoopbackInterfaceItSaysThatCompressionWillNotHelp) {
  // The compressor computes some thousand times as much, which is also more
  // than messages take under AddressSanitizer on a busy machine.
  ASSERT_EQ(Advise({"--seconds=0",
                    "--settings=none:training.batch_size=1,"
                    "topk:0.01:training.batch_size=8000:"
                    "data.digits.train_examples=16000"}),
            0)
      << output();
  EXPECT_THAT(output(),
              AllOf(HasSubstr("over this machine's loopback interface"),
                    HasSubstr("Compression will not help here")));
}

TEST_F(AdviseCommand, APlanGoesBeyondThisMachine) {
  ASSERT_EQ(Gradsieve({"plan", Path("job.textproto"), "--bandwidth=1mbit,1gbit",
                       "--workers=2,1000", "--servers=1,4", "--seconds=0",
                       "--settings=none,sidco_e:0.001:int8_block",
                       "--json=" + Path("plan.json")}),
            0)
      << output();
  EXPECT_THAT(output(),
              AllOf(HasSubstr("measuring none with 1 worker\n"),
                    HasSubstr("measuring none with 4 workers\n"),
                    HasSubstr("small: 235,146 parameters, each worker"),
                    HasSubstr("With 1,000 workers at 1.00 Mbit/s, take "
                              "\"sidco_e:0.001:int8_block\" and 4 servers"),
                    HasSubstr("each server's link is busy with"),
                    HasSubstr("cannot be cut among twice as many servers")));
  const auto json = nlohmann::json::parse(*ReadFile(Path("plan.json")));
  ASSERT_THAT(json["combinations"], SizeIs(8));
  const auto& largest = json["combinations"][3];
  EXPECT_EQ(largest["workers"], 1000);
  const auto& none = largest["settings"][0];
  // One of four links carries a quarter of what a thousand workers push.
  EXPECT_GE(none["busiest_link_bytes_per_exchange"], 1000 * 235146.0);
  EXPECT_GE(none["seconds_per_iteration"], 1000 * 7.5 / 4);
  // A thousand workers' connections take most of it, not credits, since four
  // iterations of this model are less than those.
  EXPECT_GE(none["server_memory_bytes"], 1000 * (int64_t{10} << 20));
  EXPECT_LT(none["server_memory_bytes"], 1000 * (int64_t{64} << 20));
}

TEST_F(AdviseCommand, APlanIsRefusedBeforeItMeasures) {
  const std::string job = Path("job.textproto");
  EXPECT_EQ(Gradsieve({"plan", job}), 64);
  EXPECT_THAT(output(), HasSubstr("--bandwidth"));
  EXPECT_EQ(Gradsieve({"plan", job, "--bandwidth=1gbit", "--workers=2000"}),
            64);
  EXPECT_THAT(output(),
              HasSubstr("gradsieve plan: --workers has \"2000\"; must be whole "
                        "numbers from 1 to 1024"));
  EXPECT_EQ(Gradsieve({"plan", job, "--bandwidth=1gbit", "--servers=1,5"}), 78);
  EXPECT_THAT(output(), AllOf(HasSubstr("--servers has 5: "),
                              Not(HasSubstr("measuring"))));
}

TEST_F(AdviseCommand, AMeasurementThatFailsIsNamed) {
  EXPECT_EQ(Advise({"--settings=none:optimizer.learning_rate=1e38"}), 1);
  EXPECT_THAT(
      output(),
      AllOf(HasSubstr("measuring \"none:optimizer.learning_rate=1e38\""),
            HasSubstr("not finite")));
}

TEST_F(AdviseCommand, AnInterruptLeavesNothingBehind) {
  std::filesystem::create_directory(Path("tmp"));
  TestProcess process(
      {"/usr/bin/env", "TMPDIR=" + Path("tmp"), ProgramPath("tools/gradsieve"),
       "advise", Path("job.textproto"), "--seconds=3600"},
      Path("output"));
  // A server and both workers.
  ASSERT_TRUE(WaitFor(kBound, [this] {
    return ProcessesWith(Path("tmp")).size() >= 3;
  })) << process.Output();
  process.Signal(SIGINT);
  EXPECT_EQ(process.WaitForExit(kBound), 130) << process.Output();
  EXPECT_THAT(process.Output(), HasSubstr("interrupted"));
  EXPECT_TRUE(
      WaitFor(kBound, [this] { return ProcessesWith(Path("tmp")).empty(); }));
  EXPECT_THAT(Names("tmp"), testing::IsEmpty());
}

}  // namespace
}  // namespace ps
