#include "transport/health_server.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "transport/deadline_after.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<HealthServer> StartOnAFreePort() {
  auto server = HealthServer::Start("127.0.0.1:0");
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

// What a probe gets for a service: the message's bytes, or the error's code.
std::string Probe(const HealthServer& server, const std::string& service) {
  grpc::GenericStub stub(
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", server.port()),
                          grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(DeadlineAfter(absl::Seconds(20)));
  // HealthCheckRequest { string service = 1; }
  const grpc::Slice name(
      service.empty()
          ? ""
          : absl::StrCat("\x0a",
                         std::string(1, static_cast<char>(service.size())),
                         service));
  grpc::ByteBuffer request(&name, 1);
  grpc::ByteBuffer response;
  Mutex mu;
  CondVar changed;
  bool done = false;
  grpc::Status status;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::StubOptions(),
                 &request, &response, [&](const grpc::Status& ended) {
                   MutexLock lock(&mu);
                   status = ended;
                   done = true;
                   changed.SignalAll();
                 });
  MutexLock lock(&mu);
  while (!done) changed.Wait(&mu);
  if (!status.ok()) return absl::StrCat("error ", status.error_code());
  grpc::Slice bytes;
  EXPECT_TRUE(response.DumpToSingleSlice(&bytes).ok());
  return std::string(reinterpret_cast<const char*>(bytes.begin()),
                     bytes.size());
}

// HealthCheckResponse { ServingStatus status = 1; }
constexpr char kServing[] = "\x08\x01";
constexpr char kNotServing[] = "\x08\x02";

TEST(HealthServerTest, SaysWhetherTheProcessIsReady) {
  const auto server = StartOnAFreePort();
  EXPECT_EQ(Probe(*server, ""), kServing);
  EXPECT_EQ(Probe(*server, kLiveService), kServing);
  EXPECT_EQ(Probe(*server, kReadyService), kNotServing);
  server->SetReady(true);
  EXPECT_EQ(Probe(*server, kReadyService), kServing);
  server->SetReady(false);
  EXPECT_EQ(Probe(*server, kReadyService), kNotServing);
  EXPECT_EQ(Probe(*server, "redy"),
            absl::StrCat("error ", grpc::StatusCode::NOT_FOUND));
}

TEST(HealthServerTest, SaysWhatIsWrongWithItsAddress) {
  EXPECT_THAT(HealthServer::Start("nowhere").status().message(),
              HasSubstr("\"nowhere\"; must be host:port"));
  const auto server = StartOnAFreePort();
  const std::string used = absl::StrCat("127.0.0.1:", server->port());
  EXPECT_THAT(HealthServer::Start(used).status().message(),
              HasSubstr("cannot answer health checks on " + used));
}

}  // namespace
}  // namespace ps
