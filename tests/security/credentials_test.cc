#include "security/credentials.h"

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "security/job_certificates.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
namespace tls = ::grpc::experimental;
using ::testing::HasSubstr;

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    fs::remove_all(folder_);
    job_.set_name("job");
  }

  ~CredentialsTest() override { fs::remove_all(folder_); }

  absl::Status Create(const std::string& listen) const {
    CredentialsOptions options;
    options.config = &job_;
    options.self = {"job", Role::kServer, 0};
    options.listen = listen;
    return Credentials::Create(options).status();
  }

  static void ExpectSays(const absl::Status& status, const std::string& what) {
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  }

  // Short enough for a socket.
  const std::string folder_ = absl::StrCat("/tmp/credentials_test.", getpid());
  JobConfig job_;
};

TEST_F(CredentialsTest, TcpNeedsCertificates) {
  ExpectSays(Create("127.0.0.1:0"), "gradsieve certs");
  job_.mutable_security()->set_directory(folder_);
  ExpectSays(Create("127.0.0.1:0"), folder_ + "/server-0.key");
  ExpectSays(Create("127.0.0.1:0"),
             "the certificate and key of server-0. `gradsieve certs JOB");
  ASSERT_TRUE(WriteJobCertificates(
                  job_, folder_,
                  {absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(1)})
                  .ok());
  EXPECT_TRUE(Create("127.0.0.1:0").ok()) << Create("127.0.0.1:0");
  job_.set_name("other");
  EXPECT_TRUE(Create("127.0.0.1:0").ok()) << "self is still of the job";
}

// Remembers the certificates of servers, and accepts them.
class Recorder final : public tls::ExternalCertificateVerifier {
 public:
  explicit Recorder(std::set<std::string>* seen) : seen_(seen) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)>, grpc::Status*) override {
    seen_->emplace(request->peer_cert().data(), request->peer_cert().size());
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  std::set<std::string>* const seen_;
};

TEST_F(CredentialsTest, RenewedCertificatesAreTakenUpWithoutARestart) {
  const auto renew = [&] {
    const absl::Time now = absl::Now();
    ASSERT_TRUE(WriteJobCertificates(
                    job_, folder_, {now - absl::Hours(1), now + absl::Hours(1)})
                    .ok());
  };
  renew();
  job_.mutable_security()->set_directory(folder_);
  CredentialsOptions options;
  options.config = &job_;
  options.self = {"job", Role::kServer, 0};
  options.listen = "127.0.0.1:0";
  options.refresh = absl::Seconds(1);
  const auto credentials = Credentials::Create(options);
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", (*credentials)->ForListening(),
                           &port);
  grpc::AsyncGenericService service;
  builder.RegisterAsyncGenericService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();

  std::set<std::string> seen;
  const Identity zero = {"job", Role::kWorker, 0};
  const CertificatePaths paths = CertificatePathsOf(folder_, zero);
  const auto connect = [&] {
    // Used up by TlsCredentials.
    tls::TlsChannelCredentialsOptions client;
    client.set_certificate_provider(
        std::make_shared<tls::StaticDataCertificateProvider>(
            *ReadFile(paths.authority),
            std::vector<tls::IdentityKeyCertPair>{
                {*ReadFile(paths.key), *ReadFile(paths.certificate)}}));
    client.watch_root_certs();
    client.watch_identity_key_cert_pairs();
    client.set_certificate_verifier(
        tls::ExternalCertificateVerifier::Create<Recorder>(&seen));
    client.set_check_call_host(false);
    grpc::ChannelArguments own_connection;
    own_connection.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel =
        grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                  tls::TlsCredentials(client), own_connection);
    EXPECT_TRUE(channel->WaitForConnected(
        absl::ToChronoTime(absl::Now() + absl::Seconds(60))));
  };
  connect();
  EXPECT_EQ(seen.size(), 1);
  renew();
  const absl::Time bound = absl::Now() + absl::Seconds(60);
  while (seen.size() == 1 && absl::Now() < bound) connect();
  EXPECT_EQ(seen.size(), 2);
  server->Shutdown();
  queue->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
  }
}

TEST_F(CredentialsTest, PlaintextStaysOnTheMachineUnlessToldOtherwise) {
  job_.mutable_security()->set_mode(SecurityConfig::INSECURE);
  for (const char* address :
       {"127.0.0.1:0", "localhost:7000", "[::1]:7000", "127.9.9.9:1"}) {
    EXPECT_TRUE(Create(address).ok()) << address << Create(address);
  }
  for (const char* address : {"0.0.0.0:7000", "[::]:7000", "10.0.0.5:7000",
                              "host:7000", "127.0.0.1.example.org:7000"}) {
    ExpectSays(Create(address), address);
    ExpectSays(Create(address), "security.insecure_networks");
  }
  job_.mutable_cluster()->add_servers("far:7000");
  ExpectSays(Create("127.0.0.1:0"), "far:7000");
  job_.mutable_security()->set_insecure_networks(true);
  EXPECT_TRUE(Create("0.0.0.0:7000").ok());
}

TEST_F(CredentialsTest, ASocketsFolderMustBeClosed) {
  fs::create_directory(folder_);
  fs::permissions(folder_, fs::perms(0755));
  const std::string address = "unix:" + folder_ + "/server-0";
  ExpectSays(Create(address), "chmod 700 " + folder_);
  fs::permissions(folder_, fs::perms(0700));
  EXPECT_TRUE(Create(address).ok()) << Create(address);
}

}  // namespace
}  // namespace ps
