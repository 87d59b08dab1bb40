// Whoever has no certificate of a process cannot act as it, and changes
// nothing.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/file.h"
#include "common/version.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "gtest/gtest.h"
#include "proto/parameter_server.pb.h"
#include "security/job_certificates.h"
#include "server/limits/memory_bound.h"
#include "tests/cluster/test_process.h"
#include "transport/channel.h"
#include "transport/grpc_status.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
namespace tls = ::grpc::experimental;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr absl::Duration kBound = absl::Seconds(60);

constexpr char kJob[] = R"(
  name: "honest"
  model { name: "mlp" mlp { hidden_units: 16 } }
  data { name: "digits" digits { train_examples: 400 test_examples: 100 } }
  training { batch_size: 8 max_iterations: 60 }
  compressor { name: "sidco_e" ratio: 0.1 }
  optimizer { name: "lamb" learning_rate: 0.01 }
  checkpoint { every: 0 }
  cluster { num_workers: 2 num_servers: 2 }
)";

// One caller, and what it calls itself in its messages.
struct Stranger {
  std::string name;
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  bool reaches_handlers = false;  // Otherwise TLS ends its connection.
};

// A client that believes every server.
std::shared_ptr<grpc::ChannelCredentials> ClientWith(
    const std::string& authority, const KeyAndCertificate& mine) {
  std::vector<tls::IdentityKeyCertPair> pairs;
  if (!mine.key.empty()) pairs.push_back({mine.key, mine.certificate});
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<tls::StaticDataCertificateProvider>(authority, pairs));
  options.watch_root_certs();
  if (!pairs.empty()) options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(
      std::make_shared<tls::NoOpCertificateVerifier>());
  options.set_check_call_host(false);
  options.set_verify_server_certs(false);
  return tls::TlsCredentials(options);
}

// Every RPC, as worker 0 or server 0 would make it.
std::vector<std::pair<std::string, std::string>> EveryCall(
    const JobConfig& job) {
  RegisterRequest registration;
  registration.mutable_worker()->set_incarnation(7);
  registration.set_name("stranger");
  registration.set_config(SharedConfigText(job));
  registration.set_protocol(kProtocol);
  registration.add_bucket_sizes(1000);
  registration.add_tensor_sizes(1000);
  registration.add_tensor_is_matrix(false);
  registration.set_total_iterations(60);
  // The others begin with the worker, too.
  AttendRequest worker;
  *worker.mutable_worker() = registration.worker();
  const std::string as_worker = worker.SerializeAsString();
  std::vector<std::pair<std::string, std::string>> calls = {
      {"Register", registration.SerializeAsString()},
      {"AddSquares", SquaresMessage().SerializeAsString()}};
  for (const char* name :
       {"Attend", "FindSnapshots", "Restore", "SaveSnapshot", "Stop",
        "InitializeSlice", "Pull", "Push", "Finish", "Aux/Put", "Aux/Get"}) {
    calls.emplace_back(name, as_worker);
  }
  return calls;
}

absl::Status Call(const std::shared_ptr<grpc::Channel>& channel,
                  const std::string& method, const std::string& message) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kBound));
  grpc::CompletionQueue queue;
  const grpc::Slice bytes(message);
  const std::string path = absl::StrContains(method, '/')
                               ? absl::StrCat("/ps.", method)
                               : absl::StrCat("/ps.ParameterServer/", method);
  const auto call = stub.PrepareUnaryCall(&context, path,
                                          grpc::ByteBuffer(&bytes, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  return FromGrpcStatus(status);
}

class Strangers : public testing::Test {
 protected:
  Strangers()
      : directory_(NewTestDirectory()),
        job_(*ParseConfig(kJob, "job")),
        now_(absl::Now()),
        authority_(*CertificateAuthority::Create(
            {now_ - absl::Hours(2), now_ + absl::Hours(1)})) {
    std::ofstream(path("job.textproto")) << kJob;
    // The same authority for certificates that the job does not have.
    fs::create_directory(certificates_);
    fs::permissions(certificates_, fs::perms(0700));
    WriteFile("ca.key", authority_.own().key);
    WriteFile("ca.pem", authority_.own().certificate);
    const auto made = WriteJobCertificates(
        job_, certificates_, {now_ - absl::Hours(1), now_ + absl::Hours(1)});
    EXPECT_TRUE(made.ok() && !*made) << made.status();
  }
  ~Strangers() override { fs::remove_all(directory_); }

  std::string path(const std::string& name) const {
    return absl::StrCat(directory_, "/", name);
  }

  void WriteFile(const std::string& name, const std::string& text) const {
    std::ofstream(certificates_ + "/" + name) << text;
    fs::permissions(certificates_ + "/" + name, fs::perms(0600));
  }

  KeyAndCertificate Issued(const Identity& identity,
                           absl::Duration lasts = absl::Hours(1)) const {
    return *authority_.Issue(identity, {now_ - absl::Hours(1), now_ + lasts});
  }

  std::unique_ptr<TestProcess> Start(
      const std::vector<std::string>& arguments) {
    return std::make_unique<TestProcess>(
        arguments, path(absl::StrCat("output-", next_++)));
  }

  std::vector<std::string> Arguments(
      const std::string& program, const std::vector<std::string>& more) const {
    std::vector<std::string> all = {
        ProgramPath(program), "--config=" + path("job.textproto"),
        "--set=security.directory=" + certificates_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  std::vector<Stranger> All() const {
    const Identity zero = {"honest", Role::kWorker, 0};
    const Validity valid = {now_ - absl::Hours(1), now_ + absl::Hours(1)};
    const std::string& authority = authority_.own().certificate;
    const auto foreign = CertificateAuthority::Create(valid);
    return {
        {"plaintext", grpc::InsecureChannelCredentials()},
        {"no certificate", ClientWith(authority, {})},
        {"expired", ClientWith(authority, Issued(zero, -absl::Seconds(1)))},
        {"foreign", ClientWith(authority, *foreign->Issue(zero, valid))},
        {"signed by a worker",
         ClientWith(authority,
                    *CertificateAuthority(Issued({"honest", Role::kWorker, 1}))
                         .Issue(zero, valid))},
        {"another job's",
         ClientWith(authority, Issued({"other", Role::kWorker, 0}))},
        {"another rank's",
         ClientWith(authority, Issued({"honest", Role::kWorker, 1})), true},
        {"another server's",
         ClientWith(authority, Issued({"honest", Role::kServer, 1})), true},
    };
  }

  const std::string directory_;
  const std::string certificates_ = directory_ + "/certificates";
  const JobConfig job_;
  const absl::Time now_;
  const CertificateAuthority authority_;
  int next_ = 0;
};

TEST_F(Strangers, AreRefusedAndTheHonestJobKeepsItsBits) {
  const auto undisturbed =
      Start({ProgramPath("tools/gradsieve"), "train", path("job.textproto"),
             "--run-dir=" + path("undisturbed")});
  ASSERT_EQ(undisturbed->WaitForExit(kBound), 0) << undisturbed->Output();

  // Servers exchange norms, and the second must know the first one's port.
  std::vector<std::unique_ptr<TestProcess>> servers;
  std::string addresses[2] = {"127.0.0.1:0", "127.0.0.1:0"};
  const auto known = [&] {
    return absl::StrCat("--set=cluster.servers=", addresses[0], ",",
                        addresses[1]);
  };
  for (int i = 0; i < 2; ++i) {
    const std::string file = path(absl::StrCat("address-", i));
    servers.push_back(
        Start(Arguments("server/server", {absl::StrCat("--index=", i), known(),
                                          "--address-file=" + file})));
    ASSERT_TRUE(WaitFor(kBound, [&] { return fs::exists(file); }))
        << servers[i]->Output();
    addresses[i] = *ReadFile(file);
  }
  const auto disturb = [&] {
    for (const Stranger& stranger : All()) {
      for (const std::string& address : addresses) {
        const auto channel =
            MakeChannel(address, 1 << 20, stranger.credentials);
        for (const auto& [method, message] : EveryCall(job_)) {
          const absl::Status status = Call(channel, method, message);
          EXPECT_EQ(status.code(), stranger.reaches_handlers
                                       ? absl::StatusCode::kPermissionDenied
                                       : absl::StatusCode::kUnavailable)
              << stranger.name << ", " << method << ": " << status;
        }
        if (!stranger.reaches_handlers) {
          EXPECT_TRUE(absl::IsUnavailable(Call(channel, "GetStatus", "")));
        }
      }
    }
  };
  // They come before the workers.
  disturb();
  std::vector<std::unique_ptr<TestProcess>> workers;
  for (int rank = 0; rank < 2; ++rank) {
    workers.push_back(Start(
        Arguments("worker/worker", {absl::StrCat("--rank=", rank), known(),
                                    "--run-dir=" + path("disturbed")})));
  }
  disturb();
  for (const auto& worker : workers) {
    EXPECT_EQ(worker->WaitForExit(kBound), 0) << worker->Output();
  }
  for (const auto& server : servers) {
    EXPECT_EQ(server->WaitForExit(kBound), 0) << server->Output();
  }
  const auto weights = [&](const std::string& run) {
    return ReadFile(path(run + "/weights.safetensors"));
  };
  ASSERT_TRUE(weights("undisturbed").ok()) << weights("undisturbed").status();
  EXPECT_TRUE(weights("undisturbed") == weights("disturbed"));
}

// A worker of the job sends what a server does not take.
TEST_F(Strangers, AMessageThatIsTooLongCostsAServerItsQuotaOnly) {
  const std::string file = path("address");
  const auto server = Start(Arguments(
      "server/server", {"--index=0", "--set=cluster.credit_megabytes=1",
                        "--set=optimizer.name=sgd", "--listen=127.0.0.1:0",
                        "--address-file=" + file}));
  ASSERT_TRUE(WaitFor(kBound, [&] { return fs::exists(file); }))
      << server->Output();
  JobConfig job = job_;
  job.mutable_cluster()->set_credit_megabytes(1);
  const int64_t quota = MessageQuotaBytes(job.cluster(), 1 << 20);
  const int64_t before = PeakMemoryOf(server->pid());
  ASSERT_GT(before, 0);
  const auto channel =
      MakeChannel(*ReadFile(file), int64_t{1} << 30,
                  ClientWith(authority_.own().certificate,
                             Issued({"honest", Role::kWorker, 0})));
  const absl::Status status =
      Call(channel, "Push", std::string(5 * quota, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
#if defined(__SANITIZE_THREAD__)
  constexpr int kQuotas = 10;  // Its shadow takes four bytes for each.
#else
  constexpr int kQuotas = 2;
#endif
  EXPECT_LT(PeakMemoryOf(server->pid()), before + kQuotas * quota);
  EXPECT_TRUE(Call(channel, "GetStatus", "").ok());
}

// One worker is ahead: all that it may have waits at the server, and it sends
// everything twice, and more.
TEST_F(Strangers, ABacklogStaysWithinTheBoundThatTheServerNames) {
  constexpr int kBuckets = 16;
  constexpr int kSlicesEach = 4;
  constexpr int64_t kBucketElements = 1 << 18;
  const std::string file = path("address");
  const auto server = Start(
      Arguments("server/server",
                {"--index=0", "--set=cluster.credit_megabytes=17",
                 "--set=cluster.num_servers=1", "--set=optimizer.name=sgd",
                 // These workers never attend.
                 "--set=cluster.lost_worker_timeout_seconds=600",
                 "--listen=127.0.0.1:0", "--address-file=" + file}));
  ASSERT_TRUE(WaitFor(kBound, [&] { return fs::exists(file); }))
      << server->Output();
  JobConfig job = job_;
  job.mutable_cluster()->set_lost_worker_timeout_seconds(600);
  job.mutable_cluster()->set_credit_megabytes(17);
  job.mutable_cluster()->set_num_servers(1);
  job.mutable_optimizer()->set_name("sgd");
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int rank = 0; rank < 2; ++rank) {
    channels.push_back(
        MakeChannel(*ReadFile(file), int64_t{1} << 30,
                    ClientWith(authority_.own().certificate,
                               Issued({"honest", Role::kWorker, rank}))));
    RegisterRequest registration;
    registration.mutable_worker()->set_rank(rank);
    registration.mutable_worker()->set_incarnation(7);
    registration.set_config(SharedConfigText(job));
    registration.set_protocol(kProtocol);
    for (int b = 0; b < kBuckets; ++b) {
      registration.add_bucket_sizes(kBucketElements);
    }
    registration.set_total_iterations(60);
    const absl::Status registered =
        Call(channels[rank], "Register", registration.SerializeAsString());
    ASSERT_TRUE(registered.ok()) << registered;
  }
  const PayloadBuffer ones =
      EncodeDense(std::vector<float>(kBucketElements / kSlicesEach, 1.0f));
  const auto call = [&](int rank, const char* method, int slice,
                        int iteration) {
    SliceMessage header;
    header.mutable_worker()->set_rank(rank);
    header.mutable_worker()->set_incarnation(7);
    header.set_bucket(slice / kSlicesEach);
    header.set_slice(slice % kSlicesEach);
    header.set_iteration(iteration);
    header.set_payload(std::string(ones.span().begin(), ones.span().end()));
    return Call(channels[rank], method, header.SerializeAsString());
  };
  for (int i = 0; i < kBuckets * kSlicesEach; ++i) {
    const absl::Status set = call(0, "InitializeSlice", i, 0);
    ASSERT_TRUE(set.ok()) << set;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 2 * kBuckets * kSlicesEach; ++i) {
    threads.emplace_back([&, i] {
      const absl::Status status = call(0, "Push", i / 2, 0);
      // Of two, one is a repeat and takes over the answer.
      EXPECT_TRUE(status.ok() || absl::IsCancelled(status)) << status;
    });
  }
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(call(0, "Push", 0, 1).ok());
  for (int i = 0; i < kBuckets * kSlicesEach; ++i) {
    const absl::Status status = call(1, "Push", i, 0);
    EXPECT_TRUE(status.ok()) << status;
  }
  for (std::thread& thread : threads) thread.join();
  const std::string output = server->Output();
  const char kBefore[] = "server 0 takes at most ";
  const size_t at = output.find(kBefore);
  ASSERT_NE(at, std::string::npos) << output;
  const int64_t bound = std::stoll(output.substr(at + sizeof(kBefore) - 1))
                        << 20;
  const int64_t largest = PeakMemoryOf(server->pid());
  // What workers sent, and what was sent to them.
  EXPECT_GT(largest, 3 * kBuckets * kBucketElements * int64_t{4});
  EXPECT_LT(largest, bound);
}

TEST_F(Strangers, AWorkerTalksToNobodyButItsServers) {
  const std::string file = path("address");
  const auto server = Start(Arguments(
      "server/server", {"--index=1", "--set=optimizer.name=sgd",
                        "--listen=127.0.0.1:0", "--address-file=" + file}));
  ASSERT_TRUE(WaitFor(kBound, [&] { return fs::exists(file); }))
      << server->Output();
  const auto worker = Start(Arguments(
      "worker/worker",
      {"--rank=0", "--set=optimizer.name=sgd",
       absl::StrCat("--set=cluster.servers=", *ReadFile(file), ",127.0.0.1:1"),
       "--set=cluster.startup_timeout_seconds=2"}));
  EXPECT_EQ(worker->WaitForExit(kBound), 75) << worker->Output();
  EXPECT_THAT(worker->Output(),
              HasSubstr("expected spiffe://gradsieve/honest/server/0, found "
                        "spiffe://gradsieve/honest/server/1"));
}

TEST_F(Strangers, AProcessWithoutItsCertificateSaysSo) {
  const auto refused = [&](const std::vector<std::string>& more) {
    const auto worker = Start(Arguments("worker/worker", more));
    EXPECT_EQ(worker->WaitForExit(kBound), 78) << worker->Output();
    return worker->Output();
  };
  const std::string servers = "--set=cluster.servers=127.0.0.1:1,127.0.0.1:2";
  EXPECT_THAT(refused({"--rank=0", servers, "--set=name=other"}),
              HasSubstr("and not of spiffe://gradsieve/other/worker/0"));
  fs::remove(certificates_ + "/worker-1.key");
  EXPECT_THAT(refused({"--rank=1", servers}), HasSubstr("/worker-1.key"));
  fs::permissions(certificates_ + "/worker-0.key", fs::perms(0644));
  EXPECT_THAT(refused({"--rank=0", servers}), HasSubstr("chmod 600"));
  fs::permissions(certificates_ + "/worker-0.key", fs::perms(0600));
  WriteFile(
      "worker-0.pem",
      Issued({"honest", Role::kWorker, 0}, -absl::Seconds(1)).certificate);
  EXPECT_THAT(refused({"--rank=0", servers}),
              AnyOf(HasSubstr("the key is not"), HasSubstr("expired")));
}

}  // namespace
}  // namespace ps
