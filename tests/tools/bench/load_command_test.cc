// `gradsieve bench load` with its processes and a small model. Tests that all
// results exist and were verified, not how fast it is.
#include <csignal>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "common/file.h"
#include "common/random.h"
#include "formats/npy_row_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BenchLoadCommand : public CommandTest {
 protected:
  // The command makes the folder for its files in the test's folder.
  BenchLoadCommand() { setenv("TMPDIR", Path("").c_str(), 1); }
  ~BenchLoadCommand() override { unsetenv("TMPDIR"); }

  int Load(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"bench", "load"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Gradsieve(all);
  }

  nlohmann::json Result(std::vector<std::string> arguments) {
    arguments.push_back("--json=" + Path("load.json"));
    EXPECT_EQ(Load(arguments), 0) << output();
    const auto text = ReadFile(Path("load.json"));
    EXPECT_TRUE(text.ok()) << output();
    return nlohmann::json::parse(text.value_or("{}"));
  }
};

TEST_F(BenchLoadCommand, SoManyIterationsOfEveryWorkerAreMadeAndVerified) {
  const nlohmann::json json =
      Result({"--workers=4", "--servers=2", "--megabytes=1", "--iterations=30",
              "--set=cluster.max_slice_elements=70000"});
  EXPECT_EQ(json["iterations"], 30);
  EXPECT_EQ(json["workers"], 4);
  EXPECT_EQ(json["parameters"], 1 << 18);
  // Two slices on each server.
  EXPECT_EQ(json["pushes"], 30 * 4 * 4);
  EXPECT_EQ(json["push_latency_seconds"]["count"], 30 * 4 * 4);
  EXPECT_EQ(json["iteration_latency_seconds"]["count"], 30 * 4);
  EXPECT_GT(json["payload_bytes"], 0);
  EXPECT_GT(json["answer_bytes"], json["payload_bytes"]);
  for (const char* latency :
       {"push_latency_seconds", "iteration_latency_seconds"}) {
    double before = 0;
    for (const char* percentile : {"p50", "p90", "p99", "p99.9", "max"}) {
      EXPECT_GE(json[latency][percentile], before) << latency << percentile;
      before = json[latency][percentile];
    }
    EXPECT_GT(before, 0);
  }
  EXPECT_NEAR(json["seconds_per_iteration"], json["seconds"].get<double>() / 30,
              1e-9);
  ASSERT_EQ(json["server_memory"].size(), 2);
  ASSERT_EQ(json["worker_memory"].size(), 2);
  for (const auto& server : json["server_memory"]) {
    // At least as much as any program uses.
    EXPECT_GT(server["first_bytes"], 1 << 20);
    EXPECT_GE(server["largest_bytes"], server["last_bytes"]);
  }
  EXPECT_EQ(json["weights_verified"], true);
  EXPECT_EQ(json["prepared"]["streams"], 4);
  EXPECT_EQ(json["prepared"]["ring"], 8);
  EXPECT_GT(json["prepared"]["bytes_in_each_worker_process"], 0);
  EXPECT_THAT(output(),
              AllOf(HasSubstr("4 workers in 2 processes, 2 servers"),
                    HasSubstr("30 iterations in "), HasSubstr("Verified: ")));
  // The command has removed its folder.
  EXPECT_THAT(Names(""), ElementsAre("load.json"));
}

TEST_F(BenchLoadCommand, ALoadTakesAtLeastTheTimeThatIsAskedFor) {
  const nlohmann::json json =
      Result({"--workers=4", "--processes=1", "--megabytes=1", "--seconds=2"});
  EXPECT_GE(json["seconds"], 2);
  EXPECT_GT(json["iterations"], 1);
  EXPECT_EQ(json["weights_verified"], true);
  EXPECT_EQ(json["prepared"]["worker_processes"], 1);
  EXPECT_TRUE(json["memory_flat"].is_null());
}

TEST_F(BenchLoadCommand, RealGradientsAreReadFromAFile) {
  auto file = NpyRowFile::Create(Path("gradients.npy"), 5000);
  ASSERT_TRUE(file.ok()) << file.status();
  RandomStream random(RandomKey(1));
  for (int row = 0; row < 3; ++row) {
    std::vector<float> gradient(5000);
    for (float& x : gradient) x = static_cast<float>(1e-4 * random.Normal());
    ASSERT_TRUE(file->Append(gradient).ok());
  }
  ASSERT_TRUE(file->Close().ok());
  const nlohmann::json json = Result(
      {"--workers=3", "--iterations=10", "--set=compressor.name=topk",
       "--set=compressor.ratio=0.1", "--gradients=" + Path("gradients.npy")});
  EXPECT_EQ(json["parameters"], 5000);
  EXPECT_EQ(json["weights_verified"], true);
  EXPECT_THAT(output(), HasSubstr("gradients of " + Path("gradients.npy")));
}

TEST_F(BenchLoadCommand, AnOptimizerWithStateIsSaidNotToBeVerified) {
  const nlohmann::json json =
      Result({"--workers=2", "--megabytes=1", "--iterations=5",
              "--set=optimizer.name=adam", "--set=optimizer.sparse_update=LAZY",
              "--set=optimizer.learning_rate=0.001"});
  EXPECT_EQ(json["weights_verified"], false);
  EXPECT_EQ(json["weights_not_verified_because"],
            "weights are not known beforehand with optimizer.name adam");
  EXPECT_THAT(output(), HasSubstr("Workers and servers agree; weights are not "
                                  "known beforehand with optimizer.name adam"));
}

TEST_F(BenchLoadCommand, WorkersThatDoNotWaitAreNotCompared) {
  const nlohmann::json json =
      Result({"--workers=3", "--megabytes=1", "--iterations=20",
              "--set=consistency.mode=ASYNCHRONOUS"});
  EXPECT_EQ(json["weights_verified"], false);
  EXPECT_THAT(output(), HasSubstr("Not compared: weights are not known "
                                  "beforehand with a consistency that does"));
}

TEST_F(BenchLoadCommand, SweepsPrintARowForEach) {
  const nlohmann::json workers =
      Result({"--sweep-workers=1,3", "--megabytes=1", "--iterations=5"});
  ASSERT_EQ(workers["runs"].size(), 2);
  EXPECT_EQ(workers["runs"][0]["workers"], 1);
  EXPECT_EQ(workers["runs"][1]["workers"], 3);
  EXPECT_THAT(output(), AllOf(HasSubstr("\n      1       262,144          5"),
                              HasSubstr("\n      3       262,144          5"),
                              HasSubstr("Each was verified")));
  const nlohmann::json sizes =
      Result({"--sweep-megabytes=1,2", "--workers=2", "--iterations=5"});
  ASSERT_EQ(sizes["runs"].size(), 2);
  EXPECT_EQ(sizes["runs"][0]["parameters"], 1 << 18);
  EXPECT_EQ(sizes["runs"][1]["parameters"], 1 << 19);
}

// The ID of a process of this load whose command line contains `role`.
pid_t ProcessOf(const std::string& folder, const std::string& role) {
  for (const pid_t pid : ProcessesWith(folder)) {
    const auto line = ReadFile("/proc/" + std::to_string(pid) + "/cmdline");
    if (line.ok() && absl::StrContains(*line, role)) return pid;
  }
  return -1;
}

TEST_F(BenchLoadCommand, AServerThatDiesEndsTheLoadAndIsNamed) {
  const std::string printed = Path("printed");
  TestProcess process({ProgramPath("tools/gradsieve"), "bench", "load",
                       "--workers=2", "--megabytes=1", "--seconds=1000"},
                      printed);
  pid_t server = -1;
  ASSERT_TRUE(WaitFor(absl::Seconds(60), [&] {
    // A worker process has started, so all servers listen.
    if (ProcessOf(Path("gradsieve."), "--first-rank=1") < 0) return false;
    server = ProcessOf(Path("gradsieve."), "--index=1");
    return server > 0;
  })) << process.Output();
  ASSERT_EQ(kill(server, SIGKILL), 0);
  EXPECT_EQ(process.WaitForExit(absl::Seconds(60)), 1);
  EXPECT_THAT(process.Output(),
              HasSubstr("gradsieve bench load: server 1 was killed by signal "
                        "9"));
  EXPECT_THAT(ProcessesWith(Path("gradsieve.")), IsEmpty());
  EXPECT_THAT(Names(""), ElementsAre("printed"));
}

TEST_F(BenchLoadCommand, CtrlCEndsAllProcesses) {
  const std::string printed = Path("printed");
  TestProcess process({ProgramPath("tools/gradsieve"), "bench", "load",
                       "--workers=2", "--megabytes=1", "--seconds=1000"},
                      printed);
  ASSERT_TRUE(WaitFor(absl::Seconds(60), [&] {
    return ProcessOf(Path("gradsieve."), "--first-rank=1") > 0;
  })) << process.Output();
  process.Signal(SIGINT);
  EXPECT_EQ(process.WaitForExit(absl::Seconds(60)), 130);
  EXPECT_THAT(process.Output(), HasSubstr("interrupted"));
  EXPECT_THAT(ProcessesWith(Path("gradsieve.")), IsEmpty());
  EXPECT_THAT(Names(""), ElementsAre("printed"));
}

TEST_F(BenchLoadCommand, AnErrorInAWorkerEndsTheLoadWithItsReason) {
  // A row that is not finite.
  auto file = NpyRowFile::Create(Path("gradients.npy"), 5000);
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<float> gradient(5000, 1.0f);
  gradient[17] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(file->Append(gradient).ok());
  ASSERT_TRUE(file->Close().ok());
  EXPECT_EQ(Load({"--workers=2", "--iterations=1",
                  "--gradients=" + Path("gradients.npy"),
                  "--json=" + Path("load.json")}),
            1);
  EXPECT_THAT(output(), AllOf(HasSubstr("gradsieve bench load: worker process"),
                              HasSubstr("row 0, element 17 (both from 0) is "
                                        "nan; must be finite")));
  EXPECT_THAT(Names(""), ElementsAre("gradients.npy"));
}

TEST_F(BenchLoadCommand, WrongOptionsAreNamed) {
  EXPECT_EQ(Load({"--workers=0"}), 64);
  EXPECT_THAT(output(), HasSubstr("gradsieve bench load: --workers is 0; must "
                                  "be in [1, 1024]"));
  EXPECT_EQ(Load({"--servres=2"}), 64);
  EXPECT_THAT(output(), HasSubstr("did you mean --servers?"));
  EXPECT_EQ(Load({"--gradients=" + Path("none.npy")}), 1);
  EXPECT_THAT(output(), HasSubstr(Path("none.npy")));
  EXPECT_EQ(Load({"--json=" + Path("no/load.json")}), 1);
  EXPECT_THAT(output(), AllOf(HasSubstr("cannot create "),
                              HasSubstr(Path("no/load.json"))));
}

TEST_F(BenchLoadCommand, HelpSaysWhatIsMeasured) {
  EXPECT_EQ(Gradsieve({"bench", "--help"}), 0);
  EXPECT_THAT(output(), HasSubstr("gradsieve bench load --workers=64"));
  EXPECT_EQ(Load({"--help"}), 0);
  EXPECT_THAT(output(),
              AllOf(HasSubstr("--sweep-megabytes"), HasSubstr("--gradients"),
                    HasSubstr("memory grows")));
}

}  // namespace
}  // namespace ps
