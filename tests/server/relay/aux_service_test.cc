// Which messages a server takes for other workers, and from whom. What is
// refused changes nothing.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/aux.pb.h"
#include "security/credentials.h"
#include "security/job_certificates.h"
#include "server/limits/memory_bound.h"
#include "tests/server/raw_worker.h"
#include "transport/stage_message.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

JobConfig StagesJob(int num_workers) {
  JobConfig config = PatientJob(num_workers);
  config.mutable_cluster()->set_max_slice_elements(1024);
  config.mutable_cluster()->set_credit_megabytes(1);
  config.mutable_training()->mutable_layer_parallel()->set_stages(num_workers);
  return config;
}

WorkerId Worker(int rank) {
  WorkerId worker;
  worker.set_rank(rank);
  worker.set_incarnation(100 + rank);
  return worker;
}

void RegisterAll(const JobConfig& config, RawWorker* worker) {
  for (int rank = 0; rank < config.cluster().num_workers(); ++rank) {
    const absl::Status registered = worker->Register(
        RawWorker::ValidRegistration(config, Worker(rank), {3000}));
    ASSERT_TRUE(registered.ok()) << registered;
  }
}

// From worker 0 to worker 1, with three values.
AuxMessage APut() {
  AuxMessage put;
  *put.mutable_worker() = Worker(0);
  put.set_peer(1);
  put.set_stream(2);
  put.set_number(7);
  put.set_num_values(3);
  put.set_digest(5);
  put.set_values("abcdefghijkl");
  return put;
}

AuxMessage AGet() {
  AuxMessage get;
  *get.mutable_worker() = Worker(1);
  get.set_peer(0);
  get.set_stream(2);
  get.set_number(7);
  return get;
}

class AuxServiceTest : public ::testing::Test {
 protected:
  explicit AuxServiceTest(const JobConfig& config = StagesJob(3))
      : config_(config), server_(config_), worker_(server_.address()) {}

  void SetUp() override { RegisterAll(config_, &worker_); }

  absl::Status Put(const AuxMessage& put) {
    return worker_.Call("Aux/Put", put.SerializeAsString()).status();
  }
  absl::StatusOr<std::string> Get(const AuxMessage& get) {
    return worker_.Call("Aux/Get", get.SerializeAsString());
  }
  void ExpectRefused(const absl::Status& status, absl::StatusCode code,
                     const std::string& why) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }

  const JobConfig config_;
  RunningServer server_;
  RawWorker worker_;
};

TEST_F(AuxServiceTest, AnArrayComesAsItWasSentWithoutItsSendersSecret) {
  auto put = std::async(std::launch::async, [this] { return Put(APut()); });
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto got = Get(AGet());
    ASSERT_TRUE(got.ok()) << got.status();
    AuxMessage expected = APut();
    expected.clear_worker();
    expected.set_peer(0);
    EXPECT_EQ(*got, expected.SerializeAsString());
  }
  AuxMessage next = AGet();
  next.set_number(8);
  auto waiting = std::async(std::launch::async, [&] { return Get(next); });
  EXPECT_TRUE(put.get().ok()) << "its receiver has asked for the next one";
  server_.Stop();
  ExpectRefused(waiting.get().status(), absl::StatusCode::kAborted,
                "the test is over");
}

TEST_F(AuxServiceTest, PutsThatMakeNoSenseAreRefused) {
  const std::vector<std::pair<std::function<void(AuxMessage*)>, std::string>>
      cases = {
          {[](auto* put) { put->set_peer(0); },
           "worker 0 names worker 0; must be another of workers 0 to 2"},
          {[](auto* put) { put->set_peer(-1); }, "worker 0 names worker -1"},
          {[](auto* put) { put->set_peer(3); }, "worker 0 names worker 3"},
          {[](auto* put) { put->set_stream(-1); }, "stream -1; must be in"},
          {[](auto* put) { put->set_stream(4); }, "stream 4; must be in [0, 4"},
          {[](auto* put) { put->set_number(-1); }, "must be at least 0"},
          {[](auto* put) { put->set_chunk(-1); }, "must be at least 0"},
          {[](auto* put) { put->set_chunk(1); },
           "chunk 1 of array 7 of stream 2, which has 3 values in chunks of "
           "1024"},
          {[](auto* put) { put->set_num_values(-1); }, "which has -1 values"},
          {[](auto* put) { put->set_num_values(4); },
           "has 12 bytes; must be 16 of 4 values in chunks of 1024"},
          {[](auto* put) {
             put->set_num_values(std::numeric_limits<int64_t>::max());
           },
           "has 12 bytes; must be 4096 of"},
          {[](auto* put) { put->mutable_values()->append("x"); },
           "has 13 bytes; must be 12"},
          {[](auto* put) { put->clear_values(); }, "has 0 bytes; must be 12"},
          {[](auto* put) {
             put->set_num_values(1025);
             put->set_values(std::string(4 * 1025, 'x'));
           },
           "has 4100 bytes; must be 4096"},
      };
  for (const auto& [change, why] : cases) {
    AuxMessage put = APut();
    change(&put);
    ExpectRefused(Put(put), absl::StatusCode::kInvalidArgument, why);
  }
  // Nothing of it is there: the honest array is.
  auto put = std::async(std::launch::async, [this] { return Put(APut()); });
  AuxMessage expected = APut();
  expected.clear_worker();
  expected.set_peer(0);
  EXPECT_EQ(*Get(AGet()), expected.SerializeAsString());
  server_.Stop();
  EXPECT_FALSE(put.get().ok());
}

TEST_F(AuxServiceTest, GetsThatMakeNoSenseAreRefused) {
  const std::vector<std::pair<std::function<void(AuxMessage*)>, std::string>>
      cases = {
          {[](auto* get) { get->set_peer(1); }, "worker 1 names worker 1"},
          {[](auto* get) { get->set_peer(3); }, "worker 1 names worker 3"},
          {[](auto* get) { get->set_stream(4); }, "stream 4; must be in"},
          {[](auto* get) { get->set_number(-1); }, "must be at least 0"},
          {[](auto* get) { get->set_chunk(-1); }, "must be at least 0"},
          {[](auto* get) { get->set_values("x"); }, "asked for with values"},
      };
  for (const auto& [change, why] : cases) {
    AuxMessage get = AGet();
    change(&get);
    ExpectRefused(Get(get).status(), absl::StatusCode::kInvalidArgument, why);
  }
  for (const char* method : {"Aux/Put", "Aux/Get"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(worker_.Call(method, "no message").status()));
  }
}

TEST_F(AuxServiceTest, OnlyWorkersThatAreRegisteredAreServed) {
  AuxMessage put = APut();
  put.mutable_worker()->set_incarnation(1);
  ExpectRefused(Put(put), absl::StatusCode::kFailedPrecondition, "");
  put.mutable_worker()->set_rank(3);
  ExpectRefused(Put(put), absl::StatusCode::kInvalidArgument, "");
  AuxMessage get = AGet();
  get.mutable_worker()->set_incarnation(1);
  ExpectRefused(Get(get).status(), absl::StatusCode::kFailedPrecondition, "");
  RunningServer other(config_);
  RawWorker stranger(other.address());
  for (const char* method : {"Aux/Put", "Aux/Get"}) {
    EXPECT_TRUE(absl::IsUnauthenticated(
        stranger.Call(method, APut().SerializeAsString()).status()));
  }
}

TEST_F(AuxServiceTest, AFullServerSaysSo) {
  constexpr int kPuts = 250;
  AuxMessage put = APut();
  put.set_num_values(1024);
  put.set_values(std::string(4096, 'x'));
  put.set_number(1000);
  // Numbers have the same length.
  const int64_t a_put =
      static_cast<int64_t>(put.ByteSizeLong()) + kKeptChunkBytes;
  const int64_t refused = kPuts - (int64_t{1} << 20) / a_put;
  ASSERT_GT(refused, 0);
  ASSERT_LT(refused, kPuts);
  Mutex mu;
  CondVar changed;
  std::vector<absl::Status> answers;
  std::vector<std::future<void>> calls;
  for (int i = 0; i < kPuts; ++i) {
    put.set_number(1000 + i);
    calls.push_back(std::async(std::launch::async, [&, put] {
      // A connection has too few calls for all.
      RawWorker worker(server_.address());
      const absl::Status status =
          worker.Call("Aux/Put", put.SerializeAsString()).status();
      MutexLock lock(&mu);
      answers.push_back(status);
      changed.SignalAll();
    }));
  }
  {
    MutexLock lock(&mu);
    while (static_cast<int64_t>(answers.size()) < refused) changed.Wait(&mu);
    for (const absl::Status& status : answers) {
      ExpectRefused(status, absl::StatusCode::kUnavailable,
                    "arrays for other workers that wait here");
    }
    answers.clear();
  }
  AuxMessage get = AGet();
  get.set_number(1000 + kPuts);
  auto waiting = std::async(std::launch::async, [&] { return Get(get); });
  for (auto& call : calls) call.get();
  EXPECT_EQ(static_cast<int64_t>(answers.size()), kPuts - refused);
  for (const absl::Status& status : answers) EXPECT_TRUE(status.ok()) << status;
  server_.Stop();
  EXPECT_FALSE(waiting.get().ok());
}

TEST_F(AuxServiceTest, AtTheEndOfTheServerWhoeverWaitsIsTold) {
  auto put = std::async(std::launch::async, [this] { return Put(APut()); });
  ASSERT_TRUE(Get(AGet()).ok());
  AuxMessage later = AGet();
  later.set_stream(1);
  auto get = std::async(std::launch::async, [&] { return Get(later); });
  server_.Stop();
  ExpectRefused(put.get(), absl::StatusCode::kAborted, "the test is over");
  EXPECT_FALSE(get.get().ok());
}

TEST(AuxServiceOfTwoTest, TakesWhatIsForItsOwnWorkers) {
  JobConfig config = StagesJob(2);
  config.mutable_cluster()->set_num_servers(2);
  RunningServer server(config);
  RawWorker worker(server.address());
  RegisterAll(config, &worker);
  const absl::Status put =
      worker.Call("Aux/Put", APut().SerializeAsString()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(put)) << put;
  EXPECT_THAT(
      std::string(put.message()),
      HasSubstr("arrays for worker 1 wait at server 1; this is server 0"));
  const absl::Status get =
      worker.Call("Aux/Get", AGet().SerializeAsString()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(get)) << get;
}

TEST(AuxServiceOfOtherJobsTest, RefusesAll) {
  const JobConfig config = PatientJob(2);
  RunningServer server(config);
  RawWorker worker(server.address());
  RegisterAll(config, &worker);
  for (const char* method : {"Aux/Put", "Aux/Get"}) {
    const absl::Status status =
        worker.Call(method, APut().SerializeAsString()).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("training.layer_parallel"));
  }
}

TEST(AuxServiceWithTlsTest, AWorkerSpeaksForItselfOnly) {
  namespace fs = std::filesystem;
  const std::string folder = absl::StrCat("/tmp/aux_service_test.", getpid());
  fs::remove_all(folder);
  JobConfig config = StagesJob(2);
  config.set_name("job");
  config.mutable_security()->set_mode(SecurityConfig::MUTUAL_TLS);
  const absl::Status made = MakeOwnCertificates(folder, &config);
  ASSERT_TRUE(made.ok()) << made;
  RunningServer server(config);
  JobConfig with_address = config;
  with_address.mutable_cluster()->add_servers(server.address());
  std::vector<std::unique_ptr<RawWorker>> workers;
  for (int rank = 0; rank < 2; ++rank) {
    CredentialsOptions identity;
    identity.config = &with_address;
    identity.self = {"job", Role::kWorker, rank};
    const auto credentials = Credentials::Create(identity);
    ASSERT_TRUE(credentials.ok()) << credentials.status();
    workers.push_back(std::make_unique<RawWorker>(
        server.address(), (*credentials)->ForServer(0)));
    const absl::Status registered = workers[rank]->Register(
        RawWorker::ValidRegistration(config, Worker(rank), {10}));
    ASSERT_TRUE(registered.ok()) << registered;
  }
  // Worker 1 knows all of worker 0 but its key.
  const absl::Status put =
      workers[1]->Call("Aux/Put", APut().SerializeAsString()).status();
  EXPECT_TRUE(absl::IsPermissionDenied(put)) << put;
  const absl::Status get =
      workers[0]->Call("Aux/Get", AGet().SerializeAsString()).status();
  EXPECT_TRUE(absl::IsPermissionDenied(get)) << get;
  auto honest = std::async(std::launch::async, [&] {
    return workers[0]->Call("Aux/Put", APut().SerializeAsString()).status();
  });
  EXPECT_TRUE(workers[1]->Call("Aux/Get", AGet().SerializeAsString()).ok());
  server.Stop();
  EXPECT_FALSE(honest.get().ok());
  fs::remove_all(folder);
}

TEST(StageMemoryTest, ArraysAddTheirCreditToTheMessagesOfAServer) {
  JobConfig config = StagesJob(3);
  config.mutable_optimizer()->set_name("sgd");
  config.mutable_cluster()->set_credit_megabytes(10);
  ServerPart part;
  part.parameters = part.largest_slice = 1000;
  part.slices = 1;
  const auto with = MemoryBoundOf(config, part);
  config.mutable_training()->clear_layer_parallel();
  const auto without = MemoryBoundOf(config, part);
  ASSERT_TRUE(with.ok() && without.ok()) << with.status();
  EXPECT_EQ(with->messages - without->messages, 2 * 3 * (10 << 20))
      << "twice, as for pushes: gRPC's buffers are larger than messages";
  EXPECT_EQ(with->total() - with->messages,
            without->total() - without->messages);
}

}  // namespace
}  // namespace ps
