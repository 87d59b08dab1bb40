// `gradsieve bench push-pull` with its processes and a tiny model. Tests that
// all results exist and were verified, not their values.
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class BenchPushPullCommand : public CommandTest {
 protected:
  // The command makes the folder for its files in the test's folder.
  BenchPushPullCommand() { setenv("TMPDIR", Path("").c_str(), 1); }
  ~BenchPushPullCommand() override { unsetenv("TMPDIR"); }

  int Bench(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"bench", "push-pull"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Gradsieve(all);
  }

  // Runs it with a model of two buckets and a slice size that does not divide
  // them, and reads its JSON.
  nlohmann::json Result(std::vector<std::string> arguments) {
    for (const char* argument : {"--megabytes=3", "--bucket-megabytes=2",
                                 "--set=cluster.max_slice_elements=100000",
                                 "--rounds=1", "--iterations=2"}) {
      arguments.emplace_back(argument);
    }
    arguments.push_back("--json=" + Path("bench.json"));
    EXPECT_EQ(Bench(arguments), 0) << output();
    return nlohmann::json::parse(*ReadFile(Path("bench.json")));
  }
};

// The checks that hold for both numbers of workers.
void ExpectComplete(const nlohmann::json& json, int workers) {
  for (const char* name :
       {"raw_tcp_gigabytes_per_second", "push_gigabytes_per_second",
        "raw_tcp_pull_gigabytes_per_second", "pull_gigabytes_per_second",
        "push_over_raw_tcp", "pull_over_raw_tcp"}) {
    ASSERT_TRUE(json.contains(name)) << name;
    EXPECT_GT(json[name], 0) << name;
    // There is a single round.
    EXPECT_EQ(json["spreads"][name]["smallest"], json[name]) << name;
    EXPECT_EQ(json["spreads"][name]["largest"], json[name]) << name;
  }
  EXPECT_DOUBLE_EQ(json["push_over_raw_tcp"],
                   json["push_gigabytes_per_second"].get<double>() /
                       json["raw_tcp_gigabytes_per_second"].get<double>());
  for (const char* phase : {"raw_tcp", "push", "raw_tcp_pull", "pull"}) {
    const nlohmann::json& timed = json["phases"][phase];
    EXPECT_GT(timed["seconds"], 0) << phase;
    // 3 MiB, twice, from each worker.
    EXPECT_DOUBLE_EQ(timed["gigabytes"], workers * 2 * (3 << 20) * 1e-9)
        << phase;
    for (const char* side : {"server", "workers"}) {
      EXPECT_GE(timed[side]["user_seconds_per_gigabyte"], 0) << phase;
      EXPECT_GE(timed[side]["system_seconds_per_gigabyte"], 0) << phase;
    }
  }
  EXPECT_EQ(json["settings"]["workers"], workers);
  EXPECT_EQ(json["settings"]["megabytes"], 3);
}

TEST_F(BenchPushPullCommand, OneWorkerIsMeasuredAndVerified) {
  ExpectComplete(Result({}), /*workers=*/1);
  EXPECT_THAT(output(),
              AllOf(HasSubstr("1 worker, 1 server with 2 threads"),
                    HasSubstr("1 round of 2 iterations, each verified"),
                    HasSubstr("\npush, plain TCP, added on arrival"),
                    HasSubstr("\npull, parameter server")));
  // The command has removed its folder.
  EXPECT_THAT(Names(""), testing::ElementsAre("bench.json"));
}

TEST_F(BenchPushPullCommand, TwoWorkersAreAddedUp) {
  ExpectComplete(
      Result({"--workers=2", "--server-threads=2", "--connections=1"}),
      /*workers=*/2);
}

TEST_F(BenchPushPullCommand, DensePushesBringNoWeightsBack) {
  EXPECT_LT(Result({})["push_answer_bytes_per_byte"], 0.01);
}

TEST_F(BenchPushPullCommand, SparsePushesBringBackWhatChanged) {
  const nlohmann::json json = Result({"--workers=2", "--one-of=1000"});
  // 8 bytes for each value that is sent, instead of 4 for each of a thousand.
  EXPECT_LT(json["phases"]["push"]["gigabytes"],
            0.003 * json["phases"]["raw_tcp"]["gigabytes"].get<double>());
  EXPECT_GT(json["push_answer_bytes_per_byte"], 0.5);
  EXPECT_LT(json["push_answer_bytes_per_byte"], 2);
  EXPECT_GE(json["server_cpu_seconds_per_push"], 0);
  EXPECT_THAT(output(), HasSubstr("one of 1,000 elements is pushed"));
}

TEST_F(BenchPushPullCommand, AWrongResultFailsAndNamesTheElement) {
  // The server takes half a step, which the bench does not expect.
  EXPECT_EQ(Bench({"--megabytes=1", "--rounds=1", "--iterations=1",
                   "--set=optimizer.learning_rate=0.5",
                   "--json=" + Path("bench.json")}),
            1);
  EXPECT_THAT(output(), HasSubstr("gradsieve bench push-pull: verification "
                                  "failed: worker 0"));
  EXPECT_THAT(output(), HasSubstr("element 0 of 262144 is -1; must be -2"));
  EXPECT_THAT(output(), Not(HasSubstr("GB/s  ")));
  EXPECT_THAT(Names(""), IsEmpty());
}

TEST_F(BenchPushPullCommand, CtrlCEndsAllProcesses) {
  const std::string printed = Path("printed");
  TestProcess process({ProgramPath("tools/gradsieve"), "bench", "push-pull",
                       "--megabytes=1", "--rounds=100", "--iterations=100"},
                      printed);
  // The server's job file is in the test's folder.
  ASSERT_TRUE(WaitFor(absl::Seconds(60), [&] {
    return absl::StrContains(process.Output(), "push ");
  })) << process.Output();
  EXPECT_FALSE(ProcessesWith(Path("gradsieve.")).empty());
  process.Signal(SIGINT);
  EXPECT_EQ(process.WaitForExit(absl::Seconds(60)), 130);
  EXPECT_THAT(process.Output(), HasSubstr("interrupted"));
  EXPECT_THAT(ProcessesWith(Path("gradsieve.")), IsEmpty());
  EXPECT_THAT(Names(""), testing::ElementsAre("printed"));
}

TEST_F(BenchPushPullCommand, WrongOptionsAreNamed) {
  EXPECT_EQ(Bench({"--megabytes=0"}), 64);
  EXPECT_THAT(output(), HasSubstr("gradsieve bench push-pull: --megabytes is "
                                  "0; must be in [1, 65536]"));
  EXPECT_EQ(Bench({"--workers=many"}), 64);
  EXPECT_THAT(output(),
              HasSubstr("--workers is \"many\"; must be a whole number"));
  EXPECT_EQ(Bench({"--conections=2"}), 64);
  EXPECT_THAT(output(), HasSubstr("did you mean --connections?"));
  EXPECT_EQ(Gradsieve({"bench", "push-pul"}), 64);
  EXPECT_THAT(output(), HasSubstr("did you mean \"push-pull\"?"));
}

TEST_F(BenchPushPullCommand, AJsonFileThatCannotBeWrittenIsSaidAtOnce) {
  EXPECT_EQ(Bench({"--json=" + Path("no/bench.json")}), 1);
  EXPECT_THAT(output(), AllOf(HasSubstr("cannot create "),
                              HasSubstr(Path("no/bench.json"))));
}

TEST_F(BenchPushPullCommand, HelpSaysWhatIsMeasured) {
  EXPECT_EQ(Gradsieve({"bench", "--help"}), 0);
  EXPECT_THAT(output(), HasSubstr("push-pull"));
  EXPECT_EQ(Bench({"--help"}), 0);
  EXPECT_THAT(output(), AllOf(HasSubstr("--workers"), HasSubstr("--json"),
                              HasSubstr("plain TCP")));
}

}  // namespace
}  // namespace ps
