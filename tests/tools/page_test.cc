// The page that `gradsieve train --page` serves, while the job runs.
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/monitoring/http_get.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kBound = absl::Seconds(100);

constexpr char kEndless[] = R"(
  name: "watched"
  model { name: "mlp" mlp { hidden_units: 8 } }
  data { name: "digits" digits { train_examples: 200 test_examples: 50 } }
  training { batch_size: 10 epochs: 1000000 }
  compressor { name: "topk" ratio: 0.01 }
  cluster { num_workers: 2 num_servers: 2 }
)";

class Page : public CommandTest {};

TEST_F(Page, FollowsTheJobWhileItRuns) {
  std::ofstream(Path("job.textproto")) << kEndless;
  TestProcess job(
      {ProgramPath("tools/gradsieve"), "train", Path("job.textproto"), "--page",
       "--metrics-listen=0", "--run-dir=" + Path("run")},
      Path("log"));
  int port = 0;
  ASSERT_TRUE(WaitFor(kBound, [&] {
    const std::string log = job.Output();
    std::smatch match;
    const std::regex address(
        R"(the page of this job is http://127\.0\.0\.1:(\d+)/)");
    if (!std::regex_search(log, match, address)) return false;
    port = std::stoi(match[1]);
    return true;
  })) << job.Output();

  EXPECT_THAT(HttpGet(port, "/"),
              AllOf(HasSubstr("<script src=\"page.js\""),
                    HasSubstr("Content-Security-Policy: default-src 'self'"),
                    // Nothing of another machine.
                    Not(HasSubstr("//"))));
  for (const char* file : {"/page.js", "/page.css", "/plots.js", "/plots.css",
                           "/uplot.js", "/uplot.css"}) {
    EXPECT_THAT(HttpGet(port, file), HasSubstr("HTTP/1.1 200")) << file;
  }

  json state;
  const auto look = [&] {
    const std::string answer = HttpGet(port, "/state");
    state = json::parse(answer.substr(answer.find("\r\n\r\n") + 4), nullptr,
                        /*allow_exceptions=*/false);
    return state.is_object();
  };
  ASSERT_TRUE(WaitFor(kBound, [&] {
    return look() && state["now"]["iteration"] > 100 &&
           state["servers"][0]["answers"] == true &&
           state["servers"][1]["version"] > 0;
  })) << state;
  EXPECT_EQ(state["job"]["name"], "watched");
  EXPECT_EQ(state["workers"].size(), 2u);
  EXPECT_EQ(state["workers"][1]["missing"], false);
  EXPECT_GT(state["now"]["bytes_up"], 0);
  EXPECT_GT(state["results"]["value"].size(), 0u);
  EXPECT_EQ(state["buckets"][0]["target_count"], 63);
  job.Signal(SIGINT);
  EXPECT_EQ(job.WaitForExit(kBound), 130) << job.Output();
}

}  // namespace
}  // namespace ps
