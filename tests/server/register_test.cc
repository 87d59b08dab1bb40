// How a server treats workers that register: correct, misconfigured and hostile
// ones.
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/data_description.h"
#include "common/machine_limits.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "server/server.h"
#include "tests/server/raw_worker.h"
#include "transport/grpc_status.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Large slices, so that a model can be too large for a machine's memory before
// it has too many of them.
JobConfig Job() {
  JobConfig job = PatientJob(/*num_workers=*/2);
  job.mutable_cluster()->set_max_slice_elements(1 << 20);
  return job;
}

class RegisterTest : public ::testing::Test {
 protected:
  RegisterTest()
      : config_(Job()), server_(config_), worker_(server_.address()) {}

  RegisterRequest Valid(int rank, uint64_t incarnation = 1) {
    WorkerId id;
    id.set_rank(rank);
    id.set_incarnation(incarnation);
    return RawWorker::ValidRegistration(config_, id, {1000, 24});
  }

  std::vector<int32_t> MissingRanks() {
    const auto status = worker_.GetStatus();
    EXPECT_TRUE(status.ok()) << status.status();
    return {status->missing_ranks().begin(), status->missing_ranks().end()};
  }

  const JobConfig config_;
  RunningServer server_;
  RawWorker worker_;
};

TEST_F(RegisterTest, AWorkerOfAnotherConfigIsToldTheFieldsAndTheLogTheValues) {
  RegisterRequest request = Valid(1);
  JobConfig other = config_;
  other.set_seed(99);
  other.mutable_optimizer()->set_learning_rate(0.5);
  other.mutable_schedule()->add_milestones(7);
  other.mutable_machine()->set_worker_threads(5);  // May differ.
  request.set_config(SharedConfigText(other));
  testing::internal::CaptureStderr();
  const absl::Status status = worker_.Register(request);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("worker 1 (test:1) has another config than "
                              "server 0"),
                    HasSubstr("\n  optimizer.learning_rate\n"),
                    HasSubstr("\n  seed"), HasSubstr("\n  schedule.milestones"),
                    Not(HasSubstr("0.1")), Not(HasSubstr("worker_threads"))));
  EXPECT_THAT(
      log, AllOf(HasSubstr("optimizer.learning_rate: 0.5 there and 0.1 "
                           "here; "),
                 HasSubstr("seed: 99 there and 1 here"),
                 HasSubstr("schedule.milestones: 7 there and (unset) here")));
  ASSERT_TRUE(worker_.Register(Valid(0)).ok());
  EXPECT_TRUE(worker_.Register(Valid(1)).ok()) << "the rank is still free";
}

TEST_F(RegisterTest, AnotherVersionIsNamed) {
  RegisterRequest request = Valid(0);
  request.set_protocol(request.protocol() + 1);
  const absl::Status status = worker_.Register(request);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("worker 0 has protocol 2, and server 0 has 1"));
}

TEST_F(RegisterTest, AConfigThatDoesNotParseIsRefused) {
  RegisterRequest request = Valid(0);
  for (const std::string text : {"}", "no_such_field: 1", "seed: -1"}) {
    request.set_config(text);
    const absl::Status status = worker_.Register(request);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("another version of this program"));
  }
}

TEST_F(RegisterTest, WhyAWorkerGaveUpIsOneShortLine) {
  for (const int rank : {0, 1}) {
    ASSERT_TRUE(worker_.Register(Valid(rank)).ok());
  }
  AttendRequest attend;
  *attend.mutable_worker() = Valid(1).worker();
  grpc::ClientContext attending;
  const auto events = worker_.stub()->Attend(&attending, attend);
  FinishRequest finish;
  *finish.mutable_worker() = Valid(0).worker();
  finish.set_failure("no\ndata\x1b" + std::string(1 << 20, 'x'));
  grpc::ClientContext context;
  FinishResponse response;
  ASSERT_TRUE(worker_.stub()->Finish(&context, finish, &response).ok());
  AttendEvent event;
  ASSERT_TRUE(events->Read(&event));
  EXPECT_THAT(event.failure(),
              AllOf(HasSubstr("gave up: no data x"), Not(HasSubstr("\n"))));
  EXPECT_LT(event.failure().size(), 2500u);
  EXPECT_TRUE(events->Finish().ok());
}

TEST_F(RegisterTest, TextsOutOfBoundsAreRefused) {
  RegisterRequest request = Valid(0);
  request.set_config(std::string((1 << 20) + 1, ' '));
  EXPECT_TRUE(absl::IsInvalidArgument(worker_.Register(request)));
  for (const std::string& data :
       {std::string((1 << 16) + 1, 'x'), std::string("a: \x1b[2J"),
        std::string("a: \xc2\x9b"
                    "2J")}) {
    request = Valid(0);
    request.set_data(data);
    EXPECT_TRUE(absl::IsInvalidArgument(worker_.Register(request)));
  }
  for (const std::string& name :
       {std::string(257, 'x'), std::string("two\nlines"), std::string(1, 0),
        std::string("\x1b[2J")}) {
    request = Valid(0);
    request.set_name(name);
    EXPECT_TRUE(absl::IsInvalidArgument(worker_.Register(request)));
  }
}

TEST_F(RegisterTest, WorkersWithOtherDataAreRefusedByTheDifference) {
  const auto with = [this](int rank, const std::vector<std::string>& classes) {
    RegisterRequest request = Valid(rank);
    DataDescription data;
    data.AddList("class", classes);
    request.set_data(data.text());
    return request;
  };
  // Nobody else has come yet: it may have been mended meanwhile.
  ASSERT_TRUE(worker_.Register(with(0, {"cat", "cow"})).ok());
  ASSERT_TRUE(worker_.Register(with(0, {"cat", "dog"})).ok());
  const absl::Status refused = worker_.Register(with(1, {"dog", "zcat"}));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("worker 1 (test:1) has other data than worker 0"),
            HasSubstr("class 0: \"cat\" there and \"dog\" here; class 1: "
                      "\"dog\" there and \"zcat\" here")));
  EXPECT_TRUE(absl::IsFailedPrecondition(worker_.Register(Valid(1))));
  EXPECT_TRUE(worker_.Register(with(1, {"cat", "dog"})).ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(worker_.Register(with(0, {"cat", "cow"}))));
}

TEST_F(RegisterTest, AProcessThatIsNotAdmittedSaysNothingOfTheData) {
  const auto with = [this](int rank, uint64_t incarnation,
                           const std::string& data) {
    RegisterRequest request = Valid(rank, incarnation);
    request.set_data(data);
    return request;
  };
  // Before worker 0 has told the layout, nobody else is admitted.
  EXPECT_TRUE(absl::IsUnavailable(worker_.Register(with(1, 1, "a: cow"))));
  ASSERT_TRUE(worker_.Register(with(0, 1, "a: cat")).ok());
  AttendRequest attend;
  *attend.mutable_worker() = Valid(0).worker();
  grpc::ClientContext attending;
  const auto events = worker_.stub()->Attend(&attending, attend);
  events->WaitForInitialMetadata();
  EXPECT_FALSE(worker_.Register(with(0, 2, "a: cow")).ok())
      << "its rank is taken";
  EXPECT_TRUE(worker_.Register(with(1, 1, "a: cat")).ok());
  attending.TryCancel();
}

TEST_F(RegisterTest, RanksOutsideTheJobAreRefused) {
  for (const int rank : {-1, 2, std::numeric_limits<int32_t>::max(),
                         std::numeric_limits<int32_t>::min()}) {
    const absl::Status status = worker_.Register(Valid(rank));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("this job has ranks 0 to 1"));
  }
  EXPECT_EQ(MissingRanks(), (std::vector<int32_t>{0, 1}));
}

TEST_F(RegisterTest, AWorkerThatMeantAnotherServerIsRefused) {
  RegisterRequest request = Valid(0);
  for (const int index : {-1, 1, std::numeric_limits<int32_t>::max()}) {
    request.set_server_index(index);
    const absl::Status status = worker_.Register(request);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("this is server 0"));
  }
}

TEST_F(RegisterTest, LayoutsOutOfRangeAreRefusedAndTakeNoRank) {
  const int64_t max = std::numeric_limits<int64_t>::max();
  const std::vector<std::vector<int64_t>> layouts = {
      {},
      {0},
      {-1},
      {1000, -24},
      {max},
      {max, max},
      {std::numeric_limits<int64_t>::min()},
      {int64_t{1} << 32},                                // One bucket too long.
      std::vector<int64_t>(17, (int64_t{1} << 32) - 1),  // Too much in all.
      std::vector<int64_t>((1 << 16) + 1, 1),            // Too many buckets.
  };
  for (const auto& layout : layouts) {
    RegisterRequest request = Valid(0, /*incarnation=*/666);
    request.clear_bucket_sizes();
    for (const int64_t size : layout) request.add_bucket_sizes(size);
    const absl::Status status = worker_.Register(request);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  for (const int64_t iterations :
       {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    RegisterRequest request = Valid(0, /*incarnation=*/666);
    request.set_total_iterations(iterations);
    EXPECT_TRUE(absl::IsInvalidArgument(worker_.Register(request)));
  }
  // Valid has two buckets, and at least one must not be averaged.
  for (const int averaged : {-1, 2, std::numeric_limits<int>::max()}) {
    RegisterRequest request = Valid(0, /*incarnation=*/666);
    request.set_num_averaged_buckets(averaged);
    EXPECT_TRUE(absl::IsInvalidArgument(worker_.Register(request)));
  }
  EXPECT_EQ(MissingRanks(), (std::vector<int32_t>{0, 1}));
  EXPECT_TRUE(worker_.Register(Valid(0)).ok());
}

TEST_F(RegisterTest, WorkersWithoutTheFirstOnesStatisticsAreRefused) {
  RegisterRequest request = Valid(0);
  request.set_num_averaged_buckets(1);
  ASSERT_TRUE(worker_.Register(request).ok());
  const absl::Status status = worker_.Register(Valid(1));
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1 of the buckets averaged"));
}

TEST_F(RegisterTest, WorkersOfAnotherModelAreRefusedAndTakeNoRank) {
  ASSERT_TRUE(worker_.Register(Valid(0)).ok());
  RegisterRequest request = Valid(1, /*incarnation=*/666);
  request.set_bucket_sizes(1, 25);
  const absl::Status status = worker_.Register(request);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("1025 parameters in 2 buckets, 10 iterations"),
                    HasSubstr("1024 parameters in 2 buckets")));
  EXPECT_TRUE(worker_.Register(Valid(1)).ok());
}

TEST_F(RegisterTest, OnlyWorkerZeroBringsTheSizesOfTheModel) {
  RegisterRequest other = Valid(1);
  other.set_bucket_sizes(0, 1 << 30);
  for (const RegisterRequest& request : {other, Valid(1)}) {
    const absl::Status early = worker_.Register(request);
    EXPECT_TRUE(absl::IsUnavailable(early)) << early;
    EXPECT_THAT(std::string(early.message()), HasSubstr("worker 0, which"));
  }
  ASSERT_TRUE(worker_.Register(Valid(0)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(worker_.Register(other)));
  EXPECT_TRUE(worker_.Register(Valid(1)).ok());
}

TEST_F(RegisterTest, ASecondWorkerOfARankIsRefused) {
  ASSERT_TRUE(worker_.Register(Valid(0)).ok());
  ASSERT_TRUE(worker_.Register(Valid(1, /*incarnation=*/1)).ok());
  EXPECT_TRUE(worker_.Register(Valid(1, /*incarnation=*/1)).ok());
  const absl::Status status = worker_.Register(Valid(1, /*incarnation=*/2));
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 1 is taken by worker 1 (test:1)"));
}

// A worker that was killed on its way out, and is started again.
class FinishedWorkerTest : public RegisterTest {
 protected:
  absl::Status Finish(int rank, uint64_t incarnation, bool stopped) {
    FinishRequest request;
    *request.mutable_worker() = Valid(rank, incarnation).worker();
    request.set_stopped(stopped);
    FinishResponse finished;
    grpc::ClientContext context;
    return FromGrpcStatus(worker_.stub()->Finish(&context, request, &finished));
  }

  // Registers both workers. Worker 1 finishes, and another process of it
  // registers. Returns what the latter hears; what the former hears is in
  // finished_ when first_ has been joined.
  absl::Status ComeBack(bool stopped, RegisterResponse* response) {
    for (const int rank : {0, 1}) {
      EXPECT_TRUE(worker_.Register(Valid(rank, /*incarnation=*/1)).ok());
    }
    first_ = std::thread(
        [this, stopped] { finished_ = Finish(1, /*incarnation=*/1, stopped); });
    // Until then its rank is taken.
    for (;;) {
      grpc::ClientContext context;
      const absl::Status registered = FromGrpcStatus(worker_.stub()->Register(
          &context, Valid(1, /*incarnation=*/2), response));
      if (!absl::IsAlreadyExists(registered)) return registered;
    }
  }

  std::thread first_;
  absl::Status finished_;
};

// However often a worker calls, one call is kept.
TEST_F(FinishedWorkerTest, ARepeatEndsTheCallBeforeIt) {
  for (const int rank : {0, 1}) {
    ASSERT_TRUE(worker_.Register(Valid(rank)).ok());
  }
  std::atomic<int> num_ended{0};
  std::atomic<int> num_superseded{0};
  std::vector<std::thread> calls;
  for (int i = 0; i < 3; ++i) {
    calls.emplace_back([&] {
      const absl::Status ended = Finish(1, /*incarnation=*/1, false);
      EXPECT_TRUE(ended.ok() || absl::IsCancelled(ended)) << ended;
      num_superseded += absl::IsCancelled(ended);
      ++num_ended;
    });
  }
  while (num_ended < 2) {
  }
  EXPECT_TRUE(Finish(0, /*incarnation=*/1, false).ok());
  for (std::thread& call : calls) call.join();
  EXPECT_EQ(num_superseded, 2);
}

TEST_F(FinishedWorkerTest, HearsThatTheJobIsDone) {
  RegisterResponse response;
  const absl::Status registered = ComeBack(/*stopped=*/false, &response);
  EXPECT_TRUE(registered.ok()) << registered;
  EXPECT_TRUE(response.finished());
  EXPECT_FALSE(response.done()) << "the others may not come so far";
  AttendRequest attend;
  *attend.mutable_worker() = Valid(1, /*incarnation=*/2).worker();
  grpc::ClientContext attending;
  const auto events = worker_.stub()->Attend(&attending, attend);
  events->WaitForInitialMetadata();
  EXPECT_TRUE(Finish(0, /*incarnation=*/1, /*stopped=*/false).ok());
  first_.join();
  EXPECT_TRUE(finished_.ok()) << finished_;
  AttendEvent event;
  EXPECT_FALSE(events->Read(&event)) << event.DebugString();
  EXPECT_TRUE(events->Finish().ok());
}

TEST_F(FinishedWorkerTest, OfAStoppedJobStartsAllAgain) {
  RegisterResponse response;
  const absl::Status registered = ComeBack(/*stopped=*/true, &response);
  first_.join();
  for (const absl::Status& heard : {registered, finished_}) {
    EXPECT_TRUE(absl::IsUnavailable(heard)) << heard;
    EXPECT_THAT(std::string(heard.message()),
                HasSubstr("other workers have saved a snapshot and ended"));
  }
}

TEST_F(RegisterTest, AModelThatIsTooLargeForTheMachineIsRefused) {
  RegisterRequest request = Valid(0);
  request.clear_bucket_sizes();
  for (int i = 0; i < 15; ++i) {
    request.add_bucket_sizes((int64_t{1} << 32) - 1);
  }
  const absl::Status refused = worker_.Register(request);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("this server's part of the model takes "));
}

// The server must not allocate memory before the values arrive.
TEST_F(RegisterTest, AHugeModelCostsNothingUntilItsWeightsCome) {
  RegisterRequest request = Valid(0);
  request.clear_bucket_sizes();
  for (int i = 0; i < 15; ++i) {
    request.add_bucket_sizes(MachineMemoryBytes() / (15 * 40));
  }
  ASSERT_TRUE(worker_.Register(request).ok());
  SliceMessage header;
  *header.mutable_worker() = request.worker();
  header.set_bucket(14);
  EXPECT_TRUE(absl::IsUnavailable(
      worker_.Call("Pull", header.SerializeAsString()).status()));
  EXPECT_EQ(worker_.GetStatus()->version(), -1);
}

TEST_F(RegisterTest, CompressedMessagesAreRefused) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  RegisterRequest request = Valid(0);
  request.set_config(std::string(1 << 20, ' '));
  RegisterResponse response;
  EXPECT_EQ(worker_.stub()->Register(&context, request, &response).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(worker_.Register(Valid(0)).ok());
}

TEST_F(RegisterTest, StrangersMayNotAttendOrFinish) {
  ASSERT_TRUE(worker_.Register(Valid(0, /*incarnation=*/1)).ok());
  for (const auto& [rank, incarnation, code] :
       std::vector<std::tuple<int, int, grpc::StatusCode>>{
           {-1, 1, grpc::StatusCode::INVALID_ARGUMENT},
           {7, 1, grpc::StatusCode::INVALID_ARGUMENT},
           {0, 2, grpc::StatusCode::FAILED_PRECONDITION},
           {1, 1, grpc::StatusCode::UNAUTHENTICATED}}) {
    FinishRequest finish;
    finish.mutable_worker()->set_rank(rank);
    finish.mutable_worker()->set_incarnation(incarnation);
    finish.set_failure("stop everybody");
    FinishResponse finished;
    grpc::ClientContext finish_context;
    EXPECT_EQ(
        worker_.stub()->Finish(&finish_context, finish, &finished).error_code(),
        code);
    AttendRequest attend;
    *attend.mutable_worker() = finish.worker();
    grpc::ClientContext attend_context;
    const auto reader = worker_.stub()->Attend(&attend_context, attend);
    AttendEvent event;
    EXPECT_FALSE(reader->Read(&event));
    EXPECT_EQ(reader->Finish().error_code(), code);
  }
  EXPECT_TRUE(worker_.Register(Valid(1)).ok()) << "the job goes on";
}

TEST(ServerTest, ASecondServerOnAUsedPortIsRefused) {
  const JobConfig config = PatientJob(1);
  const RunningServer first(config);
  ServerOptions options;
  options.config = config;
  options.listen = first.address();
  const absl::Status status = Server::Start(options).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot listen on " + first.address()));
}

TEST(ServerTest, AnAddressThatIsNoneIsRefused) {
  ServerOptions options;
  options.config = PatientJob(1);
  for (const char* const address : {"", "127.0.0.1", ":7000", "127.0.0.1:",
                                    "127.0.0.1:99999", "127.0.0.1:-1"}) {
    options.listen = address;
    const absl::Status status = Server::Start(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << address << ": " << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("cannot listen on \"", address, "\"")));
  }
}

TEST(ServerTest, AnIndexOutsideTheJobIsRefused) {
  ServerOptions options;
  options.config = PatientJob(1);
  options.listen = "127.0.0.1:0";
  for (const int index : {-1, 1}) {
    options.index = index;
    const absl::Status status = Server::Start(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("server index is ", index)));
  }
}

}  // namespace
}  // namespace ps
