#include "monitoring/metrics_server.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitoring/process_metrics.h"
#include "monitoring/read_metrics.h"
#include "tests/monitoring/http_get.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<MetricsServer> Serve(const ReadMetrics& metrics) {
  auto server = MetricsServer::Start("127.0.0.1:0",
                                     {std::make_shared<ReadMetrics>(metrics)});
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

TEST(MetricsServerTest, WritesWhatItsSourcesRead) {
  double epoch = 1.5;
  ReadMetrics metrics;
  metrics.AddGauge("epoch", "Passes.", [&epoch] { return epoch; });
  metrics.AddCounter("bytes_total", "Bytes.", [] { return 7; });
  metrics.AddGauges("held", "Bytes.", "rank", [] {
    return std::vector<ReadMetrics::Labelled>{{"0", 3}, {"1", 4}};
  });
  const auto server = Serve(metrics);
  EXPECT_THAT(HttpGet(server->port(), "/metrics"),
              AllOf(StartsWith("HTTP/1.1 200"),
                    HasSubstr("Content-Type: text/plain; version=0.0.4"),
                    HasSubstr("# HELP epoch Passes.\n# TYPE epoch gauge\n"
                              "epoch 1.5\n"),
                    HasSubstr("# TYPE bytes_total counter\nbytes_total 7\n"),
                    HasSubstr("held{rank=\"0\"} 3\nheld{rank=\"1\"} 4\n")));
  epoch = 2;
  EXPECT_THAT(HttpGet(server->port(), "/metrics"), HasSubstr("\nepoch 2\n"));
  EXPECT_THAT(HttpGet(server->port(), "/"), StartsWith("HTTP/1.1 404"));
}

TEST(MetricsServerTest, ReadsWhatTheProcessTakes) {
  auto server = MetricsServer::Start("127.0.0.1:0", {ProcessMetrics()});
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string text = HttpGet((*server)->port(), "/metrics");
  for (const char* name :
       {"process_resident_memory_bytes", "process_cpu_seconds_total",
        "process_open_fds", "process_max_fds", "process_start_time_seconds"}) {
    const size_t at = text.find(absl::StrCat("\n", name, " "));
    ASSERT_NE(at, std::string::npos) << name << " in\n" << text;
    EXPECT_GT(std::stod(text.substr(text.find(' ', at))), 0) << name;
  }
}

TEST(MetricsServerTest, APeerThatSaysNothingDelaysTheNextOneOnly) {
  const auto server = Serve(ReadMetrics());
  const UniqueFd silent = ConnectToPort(server->port());
  ASSERT_GE(silent.get(), 0);
  EXPECT_THAT(HttpGet(server->port(), "/metrics"), StartsWith("HTTP/1.1 200"));
}

TEST(MetricsServerTest, SaysWhatIsWrongWithItsAddress) {
  EXPECT_THAT(MetricsServer::Start("nowhere", {}).status().message(),
              HasSubstr("\"nowhere\"; must be host:port"));
  const auto server = Serve(ReadMetrics());
  const std::string used = absl::StrCat("127.0.0.1:", server->port());
  EXPECT_THAT(MetricsServer::Start(used, {}).status().message(),
              HasSubstr("cannot serve metrics on " + used));
}

}  // namespace
}  // namespace ps
