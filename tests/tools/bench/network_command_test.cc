// `gradsieve bench network` as a process: options that it refuses, real runs on
// slow links, and that nothing is left of them however it ends. Times are only
// bounded from below, by what a link can carry.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/tools/bench/network/namespaces_in_use.h"
#include "tests/tools/command_runner.h"
#include "tools/bench/network/slow_network.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// 235,146 parameters: 0.94 MB, dense.
constexpr char kJob[] = R"(
  name: "small"
  model { name: "mlp" mlp { hidden_units: 256 hidden_units: 128 } }
  data { name: "digits" digits { train_examples: 2000 test_examples: 50 } }
  training { batch_size: 8 epochs: 2 }
  compressor { name: "topk" ratio: 0.05 }
  cluster { num_workers: 2 num_servers: 1 }
)";
constexpr double kDenseBytes = 4 * 235146;
constexpr double kBitsPerSecond = 200e6;

// Ends a test that hangs.
constexpr absl::Duration kBound = absl::Seconds(100);

class BenchNetwork : public CommandTest {
 protected:
  BenchNetwork() { std::ofstream(Path("job.textproto")) << kJob; }

  // Every process that a bench starts has the folder in its command line.
  ~BenchNetwork() override {
    EXPECT_TRUE(NothingRuns()) << "processes are left";
  }

  bool NothingRuns() const {
    return WaitFor(absl::Seconds(10),
                   [this] { return ProcessesWith(Path("")).empty(); });
  }

  std::vector<std::string> Arguments(
      const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"bench", "network", Path("job.textproto"),
                                    "--run-dir=" + Path("run")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  int Bench(const std::vector<std::string>& arguments) {
    return Gradsieve(Arguments(arguments));
  }
};

TEST_F(BenchNetwork, WhatMakesNoSenseIsRefusedBeforeAnythingIsMade) {
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } cases[] = {
      {{"--bandwidth=100"}, "--bandwidth is \"100\"; must be a number with"},
      {{"--bandwidth=fast"}, "--bandwidth is \"fast\""},
      {{"--settings=topk:2"}, "--settings: \"topk:2\": compressor.ratio"},
      {{"--settings="}, "--settings: \"\": has no compressor"},
      {{"--iterations=0"}, "--iterations is 0; must be more than --warm-up"},
      {{"--iterations=5"}, "must be more than --warm-up, which is 5"},
      {{"--warm-up=-1"}, "--warm-up is -1; must be at least 0"},
      {{"--smoothing=0"}, "--smoothing is 0; must be at least 1"},
      {{"--target-loss=low"}, "--target-loss is \"low\"; must be a finite"},
      {{"--target-loss=inf"}, "--target-loss is \"inf\"; must be a finite"},
      {{"--stop-at-target"}, "--stop-at-target needs --target-loss"},
      {{"--bandwidth=100mbit,1gbit"}, "2 bandwidths; more than one needs"},
      {{"--bandwidth=100mbit,"}, "--bandwidth is \"\"; must be a number"},
      {{"--timed-iterations=-1"}, "--timed-iterations is -1; must be at least"},
      {{"--timed-iterations=3", "--warm-up=0"}, "must be at least 1"},
      {{"--bandwidth=100mbit,1gbit", "--timed-iterations=21"},
       "--iterations is 50; must be at least 52"},
      {{"--timed-iterations=3",
        "--settings=none,none:consistency.mode=ASYNCHRONOUS"},
       "setting none:consistency.mode=ASYNCHRONOUS learns depends on the time"},
      {{"--timed-iterations=3", "--settings=auto"}, "setting auto learns"},
      {{"--bandwith=1gbit"}, "did you mean --bandwidth?"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Bench(c.arguments), 64) << c.arguments[0];
    EXPECT_THAT(output(), HasSubstr(c.message));
  }
  EXPECT_EQ(Bench({"--set=compressor.ratio=7"}), 78);
  EXPECT_THAT(output(), HasSubstr("compressor.ratio"));
  EXPECT_EQ(Gradsieve({"bench", "network", Path("none.textproto")}), 78);
  EXPECT_THAT(output(), HasSubstr("none.textproto"));
  EXPECT_FALSE(std::filesystem::exists(Path("run")));
}

TEST_F(BenchNetwork, IsInTheHelpWithItsSettings) {
  EXPECT_EQ(Gradsieve({"bench", "--help"}), 0);
  EXPECT_THAT(output(), HasSubstr("gradsieve bench network"));
  EXPECT_EQ(Gradsieve({"bench", "network", "--help"}), 0);
  EXPECT_THAT(output(),
              AllOf(HasSubstr("NAME[:RATIO][:VALUE_CODE][:FIELD=VALUE]"),
                    HasSubstr("--bandwidth"), HasSubstr("Needs root")));
}

// The program without root's capabilities.
TEST_F(BenchNetwork, WithoutRootItSaysWhatIsMissing) {
  std::vector<std::string> command = {ProgramPath("tools/gradsieve")};
  if (geteuid() == 0) {
    command = {"/usr/bin/setpriv", "--bounding-set=-all", "--inh-caps=-all",
               command[0]};
  }
  for (const std::string& argument : Arguments({})) command.push_back(argument);
  TestProcess process(command, Path("output"));
  EXPECT_EQ(process.WaitForExit(kBound), 1) << process.Output();
  EXPECT_THAT(process.Output(),
              AllOf(HasSubstr("making a network namespace needs root"),
                    HasSubstr("sudo")));
  EXPECT_FALSE(std::filesystem::exists(Path("run")));
}

// The tests below make networks.
class BenchNetworkRun : public BenchNetwork {
 protected:
  void SetUp() override {
    const absl::Status available = SlowNetwork::CheckAvailable();
    if (!available.ok()) GTEST_SKIP() << available.message();
    interfaces_ = NetworkInterfaces();
  }

  void TearDown() override { EXPECT_EQ(NetworkInterfaces(), interfaces_); }

  nlohmann::json Json() const {
    const absl::StatusOr<std::string> text = ReadFile(Path("bench.json"));
    EXPECT_TRUE(text.ok()) << text.status();
    return nlohmann::json::parse(text.value_or("{}"));
  }

  // The namespaces of the processes that a bench has started.
  std::set<std::string> ChildrensNamespaces() const {
    const auto of = [](const std::string& process) {
      std::error_code error;
      return std::filesystem::read_symlink(
                 absl::StrCat("/proc/", process, "/ns/net"), error)
          .string();
    };
    std::set<std::string> found;
    for (const pid_t pid : ProcessesWith(Path("run"))) {
      found.insert(of(absl::StrCat(pid)));
    }
    found.erase(of("self"));
    found.erase("");
    return found;
  }

  static bool NoneInUse(const std::set<std::string>& namespaces) {
    return WaitFor(absl::Seconds(10), [&namespaces] {
      const std::set<std::string> in_use = NetworkNamespacesInUse();
      return std::none_of(
          namespaces.begin(), namespaces.end(),
          [&in_use](const std::string& id) { return in_use.count(id) > 0; });
    });
  }

  // A bench that continues until it is stopped, and has trained a little.
  std::vector<std::string> EndlessArguments() const {
    return Arguments({"--settings=none", "--iterations=1000000", "--warm-up=1",
                      "--bandwidth=200mbit"});
  }
  bool HasTrained() const {
    return WaitFor(kBound, [this] {
      const auto metrics = ReadFile(Path("run/01-none/metrics.jsonl"));
      return metrics.ok() && absl::StrContains(*metrics, "\"iteration\":3,");
    });
  }

 private:
  std::set<std::string> interfaces_;
};

TEST_F(BenchNetworkRun, LinksAreReallySlowAndEverySettingIsMeasured) {
  ASSERT_EQ(
      Bench({"--bandwidth=200mbit", "--settings=none,topk:0.01:fp16",
             "--iterations=12", "--warm-up=2", "--target-loss=1e9",
             "--smoothing=3", "--evaluate", "--json=" + Path("bench.json")}),
      0)
      << output();
  EXPECT_THAT(output(),
              AllOf(HasSubstr("200 Mbit/s requested; measured "),
                    HasSubstr("[2/2] topk:0.01:fp16"),
                    HasSubstr("235,146 parameters, 2 workers, 1 server"),
                    HasSubstr("to loss")));
  const nlohmann::json json = Json();
  EXPECT_EQ(json["bits_per_second"], kBitsPerSecond);
  EXPECT_GT(json["measured_bits_per_second_up"], 0);
  ASSERT_THAT(json["runs"], SizeIs(2));
  const auto& none = json["runs"][0];
  EXPECT_EQ(none["setting"], "none");
  EXPECT_EQ(none["iterations"], 12);
  ASSERT_EQ(none["measured_iterations"], 10);
  EXPECT_EQ(none["achieved_ratio"], 1);
  EXPECT_GE(none["bytes_up_per_iteration"], 2 * kDenseBytes);
  // All weights go through the server's link: ten times to worker 0, and nine
  // times to worker 1, whose last answer worker 0 need not wait for. Before
  // that the filter may have been idle for a while.
  const double seconds = 10 * none["seconds_per_iteration"].get<double>();
  constexpr double kBurstBytes = 128 << 10;
  EXPECT_GE(seconds, 8 * (19 * kDenseBytes - kBurstBytes) / kBitsPerSecond);
  // Includes headers, and the weights at the start.
  EXPECT_GE(none["link_bytes"], 12 * 4 * kDenseBytes);
  EXPECT_EQ(none["iterations_to_target_loss"], 3);
  EXPECT_GT(none["test_accuracy"], 0);
  EXPECT_THAT(output(), HasSubstr("accuracy "));
  const auto& topk = json["runs"][1];
  EXPECT_EQ(topk["compressor"], "topk");
  EXPECT_EQ(topk["value_code"], "fp16");
  EXPECT_NEAR(topk["achieved_ratio"], 0.01, 1e-4);
  EXPECT_LT(topk["bytes_up_per_iteration"], 0.02 * 2 * kDenseBytes);
  EXPECT_DOUBLE_EQ(topk["speed_up"],
                   none["seconds_per_iteration"].get<double>() /
                       topk["seconds_per_iteration"].get<double>());
  EXPECT_THAT(Names("run"),
              testing::ElementsAre("01-none", "02-topk_0.01_fp16"));
  EXPECT_THAT(Names("run/02-topk_0.01_fp16"),
              AllOf(Contains("metrics.jsonl"), Contains("summary.json")));
  // The namespaces of three hosts, which are all different and do not exist any
  // more.
  std::set<std::string> namespaces;
  for (const auto& host : json["hosts"]) {
    namespaces.insert(host["network_namespace"].get<std::string>());
  }
  EXPECT_THAT(namespaces, AllOf(SizeIs(3), Not(Contains(""))));
  EXPECT_TRUE(NothingRuns());
  EXPECT_TRUE(NoneInUse(namespaces));
}

TEST_F(BenchNetworkRun, SeveralBandwidthsAreTimedInOneRun) {
  constexpr double kFasterBitsPerSecond = 800e6;
  ASSERT_EQ(Bench({"--bandwidth=200mbit,800mbit", "--settings=none,none:bf16",
                   "--timed-iterations=3", "--warm-up=2", "--iterations=30",
                   "--target-loss=1e9", "--smoothing=20",
                   "--json=" + Path("bench.json")}),
            0)
      << output();
  const nlohmann::json json = Json();
  ASSERT_THAT(json["bandwidths"], SizeIs(2));
  double rate = kBitsPerSecond;
  for (const auto& bandwidth : json["bandwidths"]) {
    EXPECT_EQ(bandwidth["bits_per_second"], rate);
    EXPECT_GT(bandwidth["measured_bits_per_second_down"], 0);
    ASSERT_THAT(bandwidth["runs"], SizeIs(2));
    const auto& none = bandwidth["runs"][0];
    EXPECT_FALSE(none.contains("failure"));
    EXPECT_EQ(none["iterations"], 30);
    ASSERT_EQ(none["measured_iterations"], 3);
    constexpr double kBurstBytes = 250'000;  // 2 ms at 800 Mbit/s, and more.
    const double mean = none["seconds_per_iteration"].get<double>();
    EXPECT_GE(3 * mean, 8 * (5 * kDenseBytes - kBurstBytes) / rate);
    EXPECT_EQ(none["iterations_to_target_loss"], 20);
    EXPECT_DOUBLE_EQ(none["seconds_to_target_loss"], 20 * mean);
    rate = kFasterBitsPerSecond;
  }
}

TEST_F(BenchNetworkRun, ARunThatFailsIsSaidAndTheOthersGoOn) {
  EXPECT_EQ(Bench({"--settings=none:optimizer.learning_rate=1e38,topk",
                   "--iterations=8", "--warm-up=2", "--smoothing=1",
                   "--json=" + Path("bench.json")}),
            1)
      << output();
  // A server or a worker, whichever ends first.
  EXPECT_THAT(output(), AllOf(HasSubstr("learning_rate=1e38 failed: "),
                              HasSubstr("not finite"),
                              HasSubstr("Its log: " + Path("run/01-none_"))));
  const nlohmann::json json = Json();
  ASSERT_THAT(json["runs"], SizeIs(2));
  EXPECT_TRUE(json["runs"][0].contains("failure"));
  EXPECT_FALSE(json["runs"][1].contains("failure"));
  EXPECT_EQ(json["runs"][1]["iterations"], 8);
}

TEST_F(BenchNetworkRun, ARunCanEndAtItsTarget) {
  EXPECT_EQ(Bench({"--settings=topk,cluster", "--iterations=9"}), 64);
  ASSERT_EQ(Bench({"--settings=topk", "--iterations=1000000", "--warm-up=1",
                   "--smoothing=4", "--target-loss=1e9", "--stop-at-target",
                   "--json=" + Path("bench.json")}),
            0)
      << output();
  const auto run = Json()["runs"][0];
  EXPECT_EQ(run["iterations_to_target_loss"], 4);
  EXPECT_GT(run["iterations"], 3);
  EXPECT_LT(run["iterations"], 1000000);
}

TEST_F(BenchNetworkRun, WithoutEvaluateARunEndsWithItsLastIteration) {
  // A job whose evaluation takes longer than any test may.
  ASSERT_EQ(Bench({"--settings=topk", "--iterations=6", "--warm-up=1",
                   "--set=data.name=shapes",
                   "--set=data.shapes.test_examples=10000000"}),
            0)
      << output();
  const auto metrics = ReadFile(Path("run/01-topk/metrics.jsonl"));
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_THAT(*metrics, AllOf(HasSubstr("\"iteration\":6,"),
                              Not(HasSubstr("evaluation"))));
}

TEST_F(BenchNetworkRun, CtrlCShowsWhatThereIsAndLeavesNothing) {
  std::vector<std::string> command = {ProgramPath("tools/gradsieve")};
  for (const auto& argument : EndlessArguments()) command.push_back(argument);
  TestProcess bench(command, Path("output"));
  ASSERT_TRUE(HasTrained()) << bench.Output();
  const std::set<std::string> namespaces = ChildrensNamespaces();
  EXPECT_THAT(namespaces, SizeIs(3));
  bench.Signal(SIGINT);
  EXPECT_EQ(bench.WaitForExit(kBound), 130) << bench.Output();
  EXPECT_THAT(
      bench.Output(),
      AllOf(HasSubstr("speed-up"), HasSubstr("none failed: interrupted"),
            HasSubstr("interrupted; everything is stopped")));
  EXPECT_TRUE(NothingRuns());
  EXPECT_TRUE(NoneInUse(namespaces));
}

TEST_F(BenchNetworkRun, KillingItLeavesNothing) {
  std::vector<std::string> command = {ProgramPath("tools/gradsieve")};
  for (const auto& argument : EndlessArguments()) command.push_back(argument);
  TestProcess bench(command, Path("output"));
  ASSERT_TRUE(HasTrained()) << bench.Output();
  const std::set<std::string> namespaces = ChildrensNamespaces();
  EXPECT_THAT(namespaces, SizeIs(3));
  EXPECT_FALSE(NetworkNamespacesInUse().empty());
  bench.Signal(SIGKILL);
  EXPECT_EQ(bench.WaitForExit(kBound), 128 + SIGKILL);
  EXPECT_TRUE(NothingRuns());
  EXPECT_TRUE(NoneInUse(namespaces));
}

}  // namespace
}  // namespace ps
