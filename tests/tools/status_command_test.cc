// `gradsieve status` of runs and of servers.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cluster/test_process.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kBound = absl::Seconds(60);

constexpr char kJob[] = R"(
  name: "short"
  model { name: "mlp" mlp { hidden_units: 8 } }
  data { name: "digits" digits { train_examples: 200 test_examples: 50 } }
  training { batch_size: 10 epochs: 1 }
  compressor { name: "topk" ratio: 0.01 }
  cluster { num_workers: 2 num_servers: 1 }
)";

class StatusCommand : public CommandTest {
 protected:
  StatusCommand() { std::ofstream(Path("job.textproto")) << kJob; }
};

TEST_F(StatusCommand, OfARunSaysWhatItHasRecorded) {
  const std::string run = Path("run");
  ASSERT_EQ(Gradsieve({"train", Path("job.textproto"), "--run-dir=" + run}), 0)
      << output();
  ASSERT_EQ(Gradsieve({"status", run}), 0) << output();
  EXPECT_THAT(output(), AllOf(HasSubstr("short (mlp, topk): done\n"),
                              HasSubstr("iteration        10 of 10\n"),
                              HasSubstr("test accuracy"),
                              HasSubstr("% after iteration 10\n"),
                              HasSubstr("% of dense\n")));
  // As if it had been killed.
  std::filesystem::remove(run + "/summary.json");
  ASSERT_EQ(Gradsieve({"status", run}), 0) << output();
  EXPECT_THAT(output(), HasSubstr(": not done; last recorded "));
  ASSERT_EQ(Gradsieve({"status", run, "--json"}), 0) << output();
  const json status = json::parse(output());
  EXPECT_EQ(status["job"], "short");
  EXPECT_EQ(status["done"], false);
  EXPECT_EQ(status["iteration"], 10);
  EXPECT_GE(status["seconds_since_last_record"], 0);
}

TEST_F(StatusCommand, OfARunThatGrowsMeanwhileIsOfNow) {
  const std::string run = Path("run");
  ASSERT_EQ(Gradsieve({"train", Path("job.textproto"), "--run-dir=" + run}), 0)
      << output();
  std::filesystem::remove(run + "/summary.json");
  std::filesystem::last_write_time(
      run + "/metrics.jsonl",
      std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  ASSERT_EQ(Gradsieve({"status", run}), 0) << output();
  EXPECT_THAT(output(), HasSubstr(": not done; last recorded 0 ms ago\n"));
}

TEST_F(StatusCommand, OfServersSaysWhomTheyMiss) {
  char folder[] = "/tmp/gradsieve_status_XXXXXX";  // Short enough for a socket.
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string address = absl::StrCat("unix:", folder, "/server");
  const std::string set = "--set=cluster.servers=" + address;
  // Nobody listens yet.
  EXPECT_EQ(Gradsieve({"status", Path("job.textproto"), set}), 75);
  EXPECT_THAT(output(),
              HasSubstr("server 0 at " + address + ": does not answer: "));
  {
    const TestProcess server(
        {ProgramPath("server/server"), "--config=" + Path("job.textproto"),
         "--index=0", set},
        Path("log"));
    ASSERT_TRUE(WaitFor(kBound, [&] {
      return Gradsieve({"status", Path("job.textproto"), set}) == 0;
    })) << server.Output();
    EXPECT_EQ(output(),
              "server 0 at " + address +
                  ": has no weights yet\nworkers 0, 1: not connected\n");
    ASSERT_EQ(Gradsieve({"status", Path("job.textproto"), set, "--json"}), 0);
    const json status = json::parse(output());
    EXPECT_EQ(status["missing_workers"], json({0, 1}));
    EXPECT_TRUE(status["servers"][0]["updates"].is_null());
  }
  std::filesystem::remove_all(folder);
}

TEST_F(StatusCommand, MistakesSayWhatToDo) {
  EXPECT_EQ(Gradsieve({"status", Path("job.textproto")}), 78);
  EXPECT_THAT(output(), HasSubstr("cluster.servers names no servers to ask"));
  EXPECT_EQ(Gradsieve({"status", Path("job.textproto"), "--rank=2",
                       "--set=cluster.servers=a:1"}),
            78);
  EXPECT_THAT(output(), HasSubstr("worker rank is 2"));
  std::filesystem::create_directory(Path("empty"));
  EXPECT_EQ(Gradsieve({"status", Path("empty")}), 78);
  EXPECT_THAT(output(), HasSubstr("is not the directory of a run"));
}

}  // namespace
}  // namespace ps
