// Bridges and servers in this process, and the training processes that they
// serve as the test's own hands.
#include "bridge/dialogue.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/messages.h"
#include "bridge/session.h"
#include "bridge/shared_block.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/unique_fd.h"
#include "compressors/compressor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/server.h"
#include "tests/bridge/block_for_test.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<ParameterInfo>& Tensors() {
  static const auto& tensors =
      *new std::vector<ParameterInfo>{{"fc1.weight", {64, 40}, 0},
                                      {"fc1.bias", {64}, 2560},
                                      {"fc2.weight", {10, 64}, 2624},
                                      {"fc2.bias", {10}, 3264}};
  return tensors;
}
constexpr int64_t kElements = 3274;

JobConfig Job(int num_workers, const std::string& compressor = "none") {
  JobConfig job;
  job.mutable_model()->set_name("external");
  job.mutable_worker_optimizer()->set_name("external");
  job.mutable_compressor()->set_name(compressor);
  job.mutable_cluster()->set_num_workers(num_workers);
  job.mutable_cluster()->set_num_servers(1);
  job.mutable_cluster()->set_startup_timeout_seconds(10);
  job.mutable_security()->set_mode(SecurityConfig::INSECURE);
  return job;
}

JobConfig ExchangeJob(int num_workers, const std::string& compressor = "none") {
  JobConfig job = Job(num_workers, compressor);
  job.clear_worker_optimizer();
  job.mutable_downlink()->set_mode(DownlinkConfig::MEAN);
  return job;
}

// The part of a job that is not under test.
class Servers {
 public:
  // Adds their addresses to the job.
  explicit Servers(JobConfig* job) {
    for (int i = 0; i < job->cluster().num_servers(); ++i) {
      ServerOptions options;
      options.config = *job;
      options.index = i;
      options.listen = "127.0.0.1:0";
      servers_.push_back(Server::Start(options).value());
      job->mutable_cluster()->add_servers(servers_.back()->address());
    }
    results_.resize(servers_.size());
    for (size_t i = 0; i < servers_.size(); ++i) {
      threads_.emplace_back([this, i] { results_[i] = servers_[i]->Wait(); });
    }
  }
  ~Servers() {
    for (const auto& server : servers_) {
      server->Stop(absl::CancelledError("the test is over"));
    }
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

  // Wait returns some time later.
  void Stop(int server, const absl::Status& why) {
    servers_[server]->Stop(why);
  }
  // Waits until it has ended.
  absl::Status ResultOf(int server) {
    threads_[server].join();
    return results_[server];
  }

 private:
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<absl::Status> results_;
  std::vector<std::thread> threads_;
};

// What the Python package does, with a bridge on a thread of its own.
class TrainingProcess {
 public:
  TrainingProcess(const absl::StatusOr<JobConfig>& job, int rank,
                  const std::vector<ParameterInfo>& tensors = Tensors()) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = UniqueFd(ends[0]);
    bridges_ = UniqueFd(ends[1]);
    process_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
    DialogueOptions options;
    options.config = job;
    options.worker_rank = rank;
    options.incarnation = 100 + rank;
    options.name = absl::StrCat("host:", rank);
    options.socket = bridges_.get();
    options.process = process_.get();
    bridge_ = std::thread([this, options] {
      result_ = Converse(options);
      bridges_.Close();
    });
    memfd_ = MakeBlock(tensors);
    const int64_t bytes = BlockBytes(tensors);
    map_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                memfd_.get(), 0);
    bytes_ = bytes;
    const auto block =
        SharedBlock::Map(UniqueFd(fcntl(memfd_.get(), F_DUPFD_CLOEXEC, 0)));
    EXPECT_TRUE(block.ok()) << block.status();
    size_ = (*block)->num_elements();
    out_ = bytes / 4 - size_;
    in_ = out_ - (size_ + 15) / 16 * 16;
  }
  ~TrainingProcess() {
    HangUp();
    Result().IgnoreError();
    munmap(map_, bytes_);
  }

  float* in() { return static_cast<float*>(map_) + in_; }
  float* out() { return static_cast<float*>(map_) + out_; }

  void Tell(BridgeOp op, int a = 0, const std::string& text = "",
            const UniqueFd& memfd = UniqueFd()) {
    BridgeMessage message;
    message.op = op;
    message.a = a;
    message.text = text;
    const int sent = op == BridgeOp::kOpen ? memfd_.get() : memfd.get();
    if (sent >= 0) message.fd = UniqueFd(fcntl(sent, F_DUPFD_CLOEXEC, 0));
    EXPECT_TRUE(SendBridgeMessage(socket_.get(), message).ok());
  }
  BridgeMessage Answer() {
    auto received = ReceiveBridgeMessage(socket_.get());
    if (!received.ok() || !received->has_value()) {
      ADD_FAILURE() << "no answer: " << received.status();
      return BridgeMessage();
    }
    return **std::move(received);
  }
  absl::Status StatusOf(const BridgeMessage& answer) {
    return absl::Status(static_cast<absl::StatusCode>(answer.a), answer.text);
  }
  absl::Status Ask(BridgeOp op, const std::string& text = "") {
    Tell(op, 0, text);
    return StatusOf(Answer());
  }
  // OPEN, and in delta mode the first weights: element i is i / 100, by rank 0.
  absl::Status Join(int rank, bool exchanges) {
    absl::Status status = Ask(BridgeOp::kOpen);
    if (!status.ok() || exchanges) return status;
    if (rank == 0) {
      for (int64_t i = 0; i < size_; ++i) {
        in()[i] = static_cast<float>(i) / 100;
      }
      status = Ask(BridgeOp::kFirst);
    }
    status.Update(Ask(BridgeOp::kPull));
    return status;
  }
  // Pushes what is in `in`, as one bucket.
  void StartPush() {
    Tell(BridgeOp::kBegin);
    Tell(BridgeOp::kReady, 0);
    Tell(BridgeOp::kWait);
  }
  absl::Status Await() { return StatusOf(Answer()); }

  int socket() const { return socket_.get(); }
  void HangUp() { socket_.Close(); }
  void ShutDown() { shutdown(socket_.get(), SHUT_WR); }
  void End() { eventfd_write(process_.get(), 1); }

  absl::Status Result() {
    if (bridge_.joinable()) bridge_.join();
    return result_;
  }

 private:
  UniqueFd socket_;
  UniqueFd bridges_;
  UniqueFd process_;
  UniqueFd memfd_;
  void* map_ = nullptr;
  int64_t bytes_ = 0;
  int64_t size_ = 0;
  int64_t in_ = 0;
  int64_t out_ = 0;
  absl::Status result_;
  std::thread bridge_;
};

// Runs the same for each rank, at the same time.
template <typename Work>
void OnAll(std::vector<std::unique_ptr<TrainingProcess>>* ranks,
           const Work& work) {
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ranks->size(); ++rank) {
    threads.emplace_back(
        [&, rank] { work(static_cast<int>(rank), (*ranks)[rank].get()); });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::unique_ptr<TrainingProcess>> Start(const JobConfig& job) {
  std::vector<std::unique_ptr<TrainingProcess>> ranks;
  for (int rank = 0; rank < job.cluster().num_workers(); ++rank) {
    ranks.push_back(std::make_unique<TrainingProcess>(job, rank));
  }
  OnAll(&ranks, [&](int rank, TrainingProcess* process) {
    const absl::Status joined = process->Join(rank, AnswersMeans(job));
    EXPECT_TRUE(joined.ok()) << joined;
  });
  return ranks;
}

// Any numbers that differ between ranks and pushes.
float StepOf(int rank, int push, int64_t i) {
  return static_cast<float>(std::sin(0.7 * static_cast<double>(i) + rank) *
                            std::cos(0.3 * push + rank)) /
         10;
}

std::map<std::string, double> StatsOf(TrainingProcess* process) {
  process->Tell(BridgeOp::kStats);
  std::map<std::string, double> stats;
  for (const absl::string_view line :
       absl::StrSplit(process->Answer().text, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> entry = absl::StrSplit(line, ' ');
    EXPECT_TRUE(absl::SimpleAtod(entry.second, &stats[entry.first])) << line;
  }
  return stats;
}

TEST(Dialogue, GivesAllRanksTheWeightsOfRank0) {
  JobConfig job = Job(2);
  const Servers servers(&job);
  auto ranks = Start(job);
  for (const auto& rank : ranks) {
    for (int64_t i = 0; i < kElements; ++i) {
      ASSERT_EQ(rank->out()[i], static_cast<float>(i) / 100);
    }
  }
}

TEST(Dialogue, SaysWhatTheJobIs) {
  JobConfig job = Job(3);
  job.set_name("mine");
  job.mutable_consistency()->set_local_steps(4);
  job.mutable_consistency()->set_answer_delay(3);
  job.mutable_cluster()->set_num_servers(2);
  job.mutable_cluster()->set_startup_timeout_seconds(7.5);
  TrainingProcess process(job, 2);
  process.Tell(BridgeOp::kJob);
  const BridgeMessage answer = process.Answer();
  EXPECT_TRUE(process.StatusOf(answer).ok());
  EXPECT_EQ(answer.b, 3);
  EXPECT_EQ(answer.c, 0);
  EXPECT_EQ(answer.text,
            "mode delta\nlocal_steps 4\nanswer_delay 3\nanswer_weight 0.5\n"
            "synchronous 1\nnum_servers 2\n"
            "startup_timeout_seconds 7.5\nname mine\n");
  EXPECT_TRUE(process.Ask(BridgeOp::kFinish).ok());
  EXPECT_TRUE(process.Result().ok());
  TrainingProcess other(ExchangeJob(1), 0);
  other.Tell(BridgeOp::kJob);
  EXPECT_EQ(other.Answer().text,
            "mode exchange\nlocal_steps 1\nanswer_delay 0\nanswer_weight 0.5\n"
            "synchronous 1\nnum_servers 1\n"
            "startup_timeout_seconds 10\nname job\n");
}

TEST(Dialogue, AnswersWithTheErrorOfTheJob) {
  TrainingProcess wrong(absl::InvalidArgumentError("no such job"), 0);
  EXPECT_EQ(wrong.Ask(BridgeOp::kJob).message(), "no such job");
  EXPECT_EQ(wrong.Ask(BridgeOp::kOpen).message(), "no such job");
  JobConfig job = Job(1);
  job.mutable_model()->set_name("lenet5");
  TrainingProcess other(job, 0);
  EXPECT_THAT(std::string(other.Ask(BridgeOp::kJob).message()),
              HasSubstr("model.name is \"lenet5\"; the job of a program of "
                        "yours needs model { name: \"external\" }"));
}

// With every compressor: the weights that a rank goes on with and its residual
// are what it had moved to, and what was not sent is not lost. So the mean of
// the ranks' weights moves by the mean of their steps.
TEST(Dialogue, LosesNothingOfTheMeanStepWithAnyCompressor) {
  for (const std::string& name : CompressorRegistry().Names()) {
    SCOPED_TRACE(name);
    // What lgc decodes at the servers is an approximation.
    const bool loses = name == "lgc";
    JobConfig job = Job(2, name);
    job.mutable_compressor()->set_ratio(0.05);
    const absl::Status valid = ValidateConfig(job);
    ASSERT_TRUE(valid.ok()) << valid;
    const Servers servers(&job);
    auto ranks = Start(job);
    for (int push = 0; push < 6; ++push) {
      std::vector<double> expected(kElements);
      OnAll(&ranks, [&](int rank, TrainingProcess* process) {
        for (int64_t i = 0; i < kElements; ++i) {
          process->in()[i] = process->out()[i] - StepOf(rank, push, i);
        }
      });
      for (int64_t i = 0; i < kElements; ++i) {
        expected[i] = (ranks[0]->in()[i] + ranks[1]->in()[i]) / 2.0;
      }
      for (const auto& rank : ranks) rank->StartPush();
      for (const auto& rank : ranks) {
        const absl::Status done = rank->Await();
        ASSERT_TRUE(done.ok()) << done;
      }
      for (int64_t i = 0; i < kElements && !loses; ++i) {
        ASSERT_NEAR((ranks[0]->out()[i] + ranks[1]->out()[i]) / 2.0,
                    expected[i], 1e-5)
            << "element " << i << " after push " << push;
      }
    }
    // x - y is the residual.
    for (const auto& rank : ranks) {
      ASSERT_TRUE(rank->Ask(BridgeOp::kServers).ok());
      double squares = 0;
      for (int64_t i = 0; i < kElements; ++i) {
        const double e = rank->in()[i] - rank->out()[i];
        squares += e * e;
      }
      EXPECT_NEAR(StatsOf(rank.get())["residual_norm"], std::sqrt(squares),
                  1e-3);
      EXPECT_EQ(StatsOf(rank.get())["steps"], 6);
    }
    OnAll(&ranks, [](int, TrainingProcess* process) {
      EXPECT_TRUE(process->Ask(BridgeOp::kFinish).ok());
      EXPECT_TRUE(process->Result().ok());
    });
  }
}

// With every compressor: all means together are the means of all gradients, but
// for the means of the residuals.
TEST(Dialogue, LosesNothingOfTheMeanGradientWithAnyCompressor) {
  for (const std::string& name : CompressorRegistry().Names()) {
    // What lgc decodes at the servers is an approximation.
    if (name == "lgc") continue;
    for (const int num_workers : {1, 2}) {
      SCOPED_TRACE(absl::StrCat(name, ", ", num_workers, " workers"));
      JobConfig job = ExchangeJob(num_workers, name);
      job.mutable_compressor()->set_ratio(0.05);
      const absl::Status valid = ValidateConfig(job);
      ASSERT_TRUE(valid.ok()) << valid;
      const Servers servers(&job);
      auto ranks = Start(job);
      std::vector<double> missing(kElements);
      for (int push = 0; push < 6; ++push) {
        OnAll(&ranks, [&](int rank, TrainingProcess* process) {
          for (int64_t i = 0; i < kElements; ++i) {
            process->in()[i] = StepOf(rank, push, i);
          }
          process->StartPush();
          const absl::Status done = process->Await();
          ASSERT_TRUE(done.ok()) << done;
        });
        for (int64_t i = 0; i < kElements; ++i) {
          for (int rank = 0; rank < num_workers; ++rank) {
            missing[i] += StepOf(rank, push, i) / num_workers;
          }
          missing[i] -= ranks[0]->out()[i];
          ASSERT_EQ(ranks.back()->out()[i], ranks[0]->out()[i]) << i;
        }
      }
      double squares = 0;
      for (const double e : missing) squares += e * e;
      double norms = 0;
      for (const auto& rank : ranks) {
        norms += StatsOf(rank.get())["residual_norm"] / num_workers;
      }
      // Of two residuals, the mean is not longer than their mean length.
      EXPECT_LE(std::sqrt(squares), norms + 1e-4);
      if (num_workers == 1) {
        EXPECT_NEAR(std::sqrt(squares), norms, 1e-4);
      }
      OnAll(&ranks, [](int, TrainingProcess* process) {
        EXPECT_TRUE(process->Ask(BridgeOp::kFinish).ok());
        EXPECT_TRUE(process->Result().ok());
      });
    }
  }
}

TEST(Dialogue, AveragesNumbersOverAllRanks) {
  for (JobConfig job : {Job(2), ExchangeJob(2)}) {
    const Servers servers(&job);
    auto ranks = Start(job);
    // As many as fit, fewer, and none.
    for (const size_t count : {kMaxAveraged, size_t{3}, size_t{0}}) {
      OnAll(&ranks, [&](int rank, TrainingProcess* process) {
        std::vector<float> values(count);
        for (size_t i = 0; i < count; ++i) values[i] = i * (1 + 2 * rank);
        const std::string bytes(reinterpret_cast<const char*>(values.data()),
                                count * sizeof(float));
        process->Tell(BridgeOp::kAverage, 0, bytes);
        const BridgeMessage answer = process->Answer();
        ASSERT_TRUE(process->StatusOf(answer).ok()) << answer.text;
        ASSERT_EQ(answer.text.size(), bytes.size());
        std::copy(answer.text.begin(), answer.text.end(),
                  reinterpret_cast<char*>(values.data()));
        for (size_t i = 0; i < count; ++i) EXPECT_EQ(values[i], 2 * i);
      });
    }
  }
}

TEST(Dialogue, SavesWhatIsNotSentYet) {
  for (const JobConfig& each : {Job(1, "topk"), ExchangeJob(1, "topk")}) {
    const UniqueFd first = MakeMemfd("", 0, /*sealed=*/false);
    const UniqueFd second = MakeMemfd("", 0, /*sealed=*/false);
    double norm = 0;
    {
      JobConfig job = each;
      const Servers servers(&job);
      auto ranks = Start(job);
      for (int64_t i = 0; i < kElements; ++i) {
        ranks[0]->in()[i] = ranks[0]->out()[i] - StepOf(0, 0, i);
      }
      ranks[0]->StartPush();
      ASSERT_TRUE(ranks[0]->Await().ok());
      ranks[0]->Tell(BridgeOp::kSave, 0, "", first);
      ASSERT_TRUE(ranks[0]->Await().ok());
      norm = StatsOf(ranks[0].get())["residual_norm"];
    }
    EXPECT_GT(norm, 0);
    JobConfig job = each;
    const Servers servers(&job);
    auto ranks = Start(job);
    ranks[0]->Tell(BridgeOp::kLoad, 0, "", first);
    const absl::Status loaded = ranks[0]->Await();
    ASSERT_TRUE(loaded.ok()) << loaded;
    EXPECT_EQ(StatsOf(ranks[0].get())["residual_norm"], norm);
    if (!AnswersMeans(job)) {
      double squares = 0;
      for (int64_t i = 0; i < kElements; ++i) {
        const double e = static_cast<float>(i) / 100 - ranks[0]->out()[i];
        squares += e * e;
      }
      EXPECT_NEAR(std::sqrt(squares), norm, 1e-3 * norm);
    }
    ranks[0]->Tell(BridgeOp::kSave, 0, "", second);
    const BridgeMessage saved = ranks[0]->Answer();
    ASSERT_TRUE(ranks[0]->StatusOf(saved).ok()) << saved.text;
    EXPECT_EQ(ReadMemfd(second, 1 << 20).value(),
              ReadMemfd(first, 1 << 20).value());
    EXPECT_EQ(ReadMemfd(second, 1 << 20)->size(), saved.b);
  }
}

TEST(Dialogue, RefusesAStateThatIsNotItsOwn) {
  const auto answer = [](const UniqueFd& state) {
    JobConfig job = Job(1, "topk");
    const Servers servers(&job);
    auto ranks = Start(job);
    ranks[0]->Tell(BridgeOp::kLoad, 0, "", state);
    return ranks[0]->Await();
  };
  EXPECT_EQ(answer(UniqueFd()).message(),
            "a message that needs a memfd came without one");
  EXPECT_EQ(answer(UniqueFd(eventfd(0, EFD_CLOEXEC))).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(answer(MakeMemfd("", 0)).code(), absl::StatusCode::kDataLoss);
  // It takes no memory yet.
  EXPECT_EQ(answer(MakeMemfd("", int64_t{1} << 40)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(answer(MakeMemfd(std::string(100, 'x'), 100)).code(),
            absl::StatusCode::kDataLoss);
}

TEST(Dialogue, RefusesToAveragePartsOfNumbers) {
  JobConfig job = ExchangeJob(1);
  const Servers servers(&job);
  auto ranks = Start(job);
  ranks[0]->Tell(BridgeOp::kAverage, 0, "12345");
  const absl::Status refused = ranks[0]->StatusOf(ranks[0]->Answer());
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("AVERAGE has 5 bytes"));
}

TEST(Dialogue, RefusesMetricsThatAreNoNumbers) {
  for (const auto& [text, error] :
       {std::pair("", "a metric is called \"\""),
        std::pair("loss 1\ntop-5 0.5", "a metric is called \"top-5\""),
        std::pair("loss 1\naccuracy", "accuracy is \"\"; must be a number"),
        std::pair("loss 1e", "loss is \"1e\"; must be a number")}) {
    JobConfig job = ExchangeJob(1);
    const Servers servers(&job);
    auto ranks = Start(job);
    ranks[0]->Tell(BridgeOp::kMetrics, 0, text);
    const absl::Status refused = ranks[0]->Ask(BridgeOp::kStats);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()), HasSubstr(error));
  }
}

TEST(Dialogue, ServersOfMeansHaveNoWeightsToGive) {
  JobConfig job = ExchangeJob(1);
  const Servers servers(&job);
  auto ranks = Start(job);
  EXPECT_THAT(std::string(ranks[0]->Ask(BridgeOp::kServers).message()),
              HasSubstr("with downlink.mode MEAN servers have no weights"));
}

TEST(Dialogue, AGradientThatIsNotFiniteIsAnError) {
  JobConfig job = ExchangeJob(1);
  const Servers servers(&job);
  auto ranks = Start(job);
  ranks[0]->in()[7] = std::numeric_limits<float>::quiet_NaN();
  ranks[0]->StartPush();
  const absl::Status error = ranks[0]->Await();
  EXPECT_EQ(error.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(error.message()),
              HasSubstr("the gradient of worker 0 is not finite in step 0"));
}

TEST(Dialogue, AGradientThatIsNotFiniteIsSkippedIfTheJobSaysSo) {
  JobConfig job = ExchangeJob(1);
  job.mutable_training()->set_non_finite(TrainingConfig::SKIP);
  const Servers servers(&job);
  auto ranks = Start(job);
  for (int push = 0; push < 2; ++push) {
    std::fill_n(ranks[0]->in(), kElements, 1.0F);
    if (push == 1) ranks[0]->in()[7] = std::numeric_limits<float>::infinity();
    ranks[0]->StartPush();
    ASSERT_TRUE(ranks[0]->Await().ok());
    // The mean of nothing is 0.
    EXPECT_EQ(ranks[0]->out()[7], push == 0 ? 1 : 0);
  }
}

TEST(Dialogue, GivesWeightsWithTheirPartOfTheResidual) {
  JobConfig job = Job(1, "topk");
  job.mutable_worker_optimizer()->set_step_ahead(0);
  const Servers servers(&job);
  auto ranks = Start(job);
  for (int64_t i = 0; i < kElements; ++i) {
    ranks[0]->in()[i] = ranks[0]->out()[i] - StepOf(0, 0, i);
  }
  ranks[0]->StartPush();
  ASSERT_TRUE(ranks[0]->Await().ok());
  ASSERT_TRUE(ranks[0]->Ask(BridgeOp::kServers).ok());
  for (int64_t i = 0; i < kElements; ++i) {
    ASSERT_EQ(ranks[0]->in()[i], ranks[0]->out()[i]);
  }
}

TEST(Dialogue, BucketsAreReadyOneByOne) {
  JobConfig job = Job(1);
  job.mutable_training()->set_bucket_megabytes(0.001);
  const Servers servers(&job);
  auto ranks = Start(job);
  TrainingProcess* const process = ranks[0].get();
  // fc2, and fc1.
  process->in()[0] = process->out()[0] - 1;
  process->in()[kElements - 1] = process->out()[kElements - 1] - 2;
  for (int64_t i = 1; i < kElements - 1; ++i) {
    process->in()[i] = process->out()[i];
  }
  process->Tell(BridgeOp::kBegin);
  process->Tell(BridgeOp::kReady, 0);
  process->Tell(BridgeOp::kReady, 1);
  ASSERT_TRUE(process->Ask(BridgeOp::kWait).ok());
  EXPECT_NEAR(process->out()[0], -1, 1e-6);
  EXPECT_NEAR(process->out()[kElements - 1], 32.73 - 2, 1e-5);
  process->Tell(BridgeOp::kBegin);
  process->Tell(BridgeOp::kReady, 1);
  EXPECT_THAT(std::string(process->Ask(BridgeOp::kWait).message()),
              HasSubstr("READY is for bucket 1; must be for bucket 0 of 2"));
}

TEST(Dialogue, BucketsTakeTurns) {
  JobConfig job = Job(1);
  job.mutable_training()->set_bucket_megabytes(0.001);
  const Servers servers(&job);
  TrainingProcess process(job, 0);
  process.Tell(BridgeOp::kOpen, /*staggered=*/1);
  EXPECT_EQ(process.Answer().b, 2);
  std::fill_n(process.in(), kElements, 1.0f);
  ASSERT_TRUE(process.Ask(BridgeOp::kFirst).ok());
  ASSERT_TRUE(process.Ask(BridgeOp::kPull).ok());
  // fc2, fc1, and fc2 again; what is in the other bucket does not count.
  for (const int turn : {0, 1, 2}) {
    const int bucket = turn % 2;
    std::fill_n(process.in(), kElements, 2.0f + turn);
    process.Tell(BridgeOp::kBegin);
    process.Tell(BridgeOp::kReady, bucket);
    ASSERT_TRUE(process.Ask(BridgeOp::kWait).ok());
    EXPECT_EQ(process.out()[0], turn == 0 ? 1 : 3) << turn;
    EXPECT_EQ(process.out()[kElements - 1], turn == 2 ? 4 : 2) << turn;
    ASSERT_TRUE(process.Ask(BridgeOp::kServers).ok());
    EXPECT_EQ(process.in()[0], process.out()[0]);
    EXPECT_EQ(process.in()[kElements - 1], process.out()[kElements - 1]);
    // A round counts as one push.
    EXPECT_EQ(StatsOf(&process)["steps"], turn == 0 ? 0 : 1) << turn;
  }
  process.Tell(BridgeOp::kBegin);
  process.Tell(BridgeOp::kReady, 0);
  EXPECT_THAT(std::string(process.Ask(BridgeOp::kWait).message()),
              HasSubstr("READY is for bucket 0; must be for bucket 1 of 2"));
}

TEST(Dialogue, JobsInWhichBucketsCannotTakeTurns) {
  struct Case {
    JobConfig job;
    const char* problem;
  };
  std::vector<Case> cases = {
      {ExchangeJob(2), "downlink.mode is MEAN"},
      {Job(2), "consistency.mode is ASYNCHRONOUS"},
      {Job(2), "training.non_finite is SKIP"},
      {Job(2, "auto"), "compressor.name is \"auto\""},
      {Job(2, "scalecom"), "compressor.name is \"scalecom\""}};
  cases[1].job.mutable_consistency()->set_mode(ConsistencyConfig::ASYNCHRONOUS);
  cases[2].job.mutable_training()->set_non_finite(TrainingConfig::SKIP);
  for (Case& test : cases) {
    test.job.mutable_cluster()->add_servers("127.0.0.1:1");
    TrainingProcess process(test.job, 0);
    process.Tell(BridgeOp::kOpen, /*staggered=*/1);
    EXPECT_THAT(process.Answer().text,
                HasSubstr(absl::StrCat("buckets take turns (stagger), and ",
                                       test.problem)));
  }
}

TEST(Dialogue, SamplesThatWeighNothingAreErrors) {
  JobConfig job = Job(1);
  const Servers servers(&job);
  auto ranks = Start(job);
  BridgeMessage begin;
  begin.op = BridgeOp::kBegin;
  begin.b = -3;
  ASSERT_TRUE(SendBridgeMessage(ranks[0]->socket(), begin).ok());
  EXPECT_THAT(std::string(ranks[0]->Ask(BridgeOp::kWait).message()),
              HasSubstr("a push is from -3 samples; must be from 1 to"));
}

TEST(Dialogue, OtherOrdersAreErrorsThatStay) {
  JobConfig job = Job(1);
  const Servers servers(&job);
  struct Case {
    BridgeOp op;
    const char* error;
  };
  for (const Case& test : {Case{BridgeOp::kFirst, "OPEN must come first"},
                           {BridgeOp::kWait, "OPEN must come first"}}) {
    TrainingProcess process(job, 0);
    EXPECT_EQ(process.Ask(test.op).message(), test.error);
    EXPECT_EQ(process.Ask(BridgeOp::kOpen).message(), test.error);
  }
  auto ranks = Start(job);
  EXPECT_EQ(ranks[0]->Ask(BridgeOp::kWait).message(),
            "WAIT must not be called between two pushes");
  EXPECT_EQ(ranks[0]->Ask(BridgeOp::kServers).message(),
            "WAIT must not be called between two pushes");
}

TEST(Dialogue, BrokenMessagesAreErrors) {
  JobConfig job = Job(1);
  const Servers servers(&job);
  auto ranks = Start(job);
  ASSERT_GT(send(ranks[0]->socket(), "nonsense", 8, 0), 0);
  EXPECT_THAT(std::string(ranks[0]->Await().message()),
              HasSubstr("a message has 8 bytes"));
  EXPECT_THAT(std::string(ranks[0]->Ask(BridgeOp::kWait).message()),
              HasSubstr("a message has 8 bytes"));
}

TEST(Dialogue, AStepThatIsNotFiniteIsAnError) {
  JobConfig job = Job(1);
  const Servers servers(&job);
  auto ranks = Start(job);
  std::copy_n(ranks[0]->out(), kElements, ranks[0]->in());
  ranks[0]->in()[7] = std::numeric_limits<float>::quiet_NaN();
  ranks[0]->StartPush();
  const absl::Status error = ranks[0]->Await();
  EXPECT_EQ(error.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(error.message()),
              HasSubstr("the weights of worker 0 are not finite after step 0"));
}

TEST(Dialogue, AStepThatIsNotFiniteIsSkippedIfTheJobSaysSo) {
  JobConfig job = Job(1);
  job.mutable_training()->set_non_finite(TrainingConfig::SKIP);
  const Servers servers(&job);
  auto ranks = Start(job);
  std::copy_n(ranks[0]->out(), kElements, ranks[0]->in());
  ranks[0]->in()[7] = std::numeric_limits<float>::infinity();
  ranks[0]->StartPush();
  ASSERT_TRUE(ranks[0]->Await().ok());
  EXPECT_EQ(ranks[0]->out()[7], 0.07F);
}

TEST(Dialogue, OtherTensorsAreNamed) {
  JobConfig job = Job(2);
  const Servers servers(&job);
  std::vector<ParameterInfo> swapped = Tensors();
  std::swap(swapped[1].name, swapped[3].name);
  swapped[1].name = "fc1.offset";
  TrainingProcess first(job, 0);
  TrainingProcess second(job, 1, swapped);
  ASSERT_TRUE(first.Ask(BridgeOp::kOpen).ok());
  const absl::Status refused = second.Ask(BridgeOp::kOpen);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("worker 1 (host:1) has another model than worker 0"),
            HasSubstr("tensor 1: \"fc1.bias [64]\" there and \"fc1.offset "
                      "[64]\" here")));
}

TEST(Dialogue, OtherFrozenTensorsAreNamed) {
  JobConfig job = Job(2);
  const Servers servers(&job);
  TrainingProcess first(job, 0);
  TrainingProcess second(job, 1);
  for (TrainingProcess* const process : {&first, &second}) {
    process->Tell(BridgeOp::kSame, 0, "fc3.bias [2] float32 11");
    process->Tell(BridgeOp::kSame, 0,
                  process == &first ? "fc4.bias [3] float32 77"
                                    : "fc4.bias [3] float32 78");
  }
  ASSERT_TRUE(first.Ask(BridgeOp::kOpen).ok());
  const absl::Status refused = second.Ask(BridgeOp::kOpen);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(refused.message()),
      HasSubstr("frozen tensor 1: \"fc4.bias [3] float32 77\" there and "
                "\"fc4.bias [3] float32 78\" here"));
}

// Whatever way a rank ends: the other one hears it at once, and why.
class DialogueEnds : public testing::Test {
 protected:
  DialogueEnds() : job_(Job(2)), servers_(&job_), ranks_(Start(job_)) {
    for (const auto& rank : ranks_) {
      std::copy_n(rank->out(), kElements, rank->in());
    }
  }

  // The error of rank 0, which is in the middle of a push.
  std::string WhatTheOtherHears() {
    const absl::Time start = absl::Now();
    const absl::Status heard = ranks_[0]->Await();
    EXPECT_EQ(heard.code(), absl::StatusCode::kAborted) << heard;
    EXPECT_LT(absl::Now() - start, absl::Seconds(1));
    return std::string(heard.message());
  }

  JobConfig job_;
  Servers servers_;
  std::vector<std::unique_ptr<TrainingProcess>> ranks_;
};

TEST_F(DialogueEnds, BetweenPushes) {
  ranks_[0]->StartPush();
  ranks_[1]->HangUp();
  EXPECT_THAT(WhatTheOtherHears(),
              AllOf(HasSubstr("worker 1 (host:1) gave up"),
                    HasSubstr("its training process has ended")));
  EXPECT_TRUE(absl::IsUnavailable(ranks_[1]->Result()));
}

TEST_F(DialogueEnds, WhileItWaits) {
  // Only rank 1 pushes, and so waits for rank 0.
  ranks_[1]->StartPush();
  ranks_[1]->HangUp();
  EXPECT_TRUE(absl::IsUnavailable(ranks_[1]->Result()));
  ranks_[0]->StartPush();
  EXPECT_THAT(WhatTheOtherHears(), HasSubstr("its training process has ended"));
}

TEST_F(DialogueEnds, ThoughAChildHoldsTheSocketOpen) {
  ranks_[1]->StartPush();
  ranks_[1]->End();
  EXPECT_TRUE(absl::IsUnavailable(ranks_[1]->Result()));
  ranks_[0]->StartPush();
  EXPECT_THAT(WhatTheOtherHears(), HasSubstr("its training process has ended"));
}

TEST_F(DialogueEnds, WithItsReason) {
  ranks_[1]->StartPush();
  ranks_[1]->Tell(BridgeOp::kAbort, 0, "ValueError: no such file");
  ranks_[1]->ShutDown();
  EXPECT_EQ(ranks_[1]->Await().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(ranks_[1]->Await().ok());
  EXPECT_TRUE(absl::IsUnavailable(ranks_[1]->Result()));
  ranks_[0]->StartPush();
  EXPECT_THAT(WhatTheOtherHears(), HasSubstr("ValueError: no such file"));
}

TEST_F(DialogueEnds, BeforeTheOther) {
  for (int push = 0; push < 2; ++push) {
    if (push == 1) ranks_[1]->Tell(BridgeOp::kFinish);
    ranks_[0]->StartPush();
    if (push == 0) {
      ranks_[1]->StartPush();
      ASSERT_TRUE(ranks_[1]->Await().ok());
      ASSERT_TRUE(ranks_[0]->Await().ok());
    }
  }
  const absl::Status error = ranks_[0]->Await();
  EXPECT_EQ(error.code(), absl::StatusCode::kFailedPrecondition);
  constexpr char kWhy[] =
      "worker 1 has finished after push 0 (counted from 0), and worker 0 makes "
      "another one";
  EXPECT_THAT(std::string(error.message()), HasSubstr(kWhy));
  EXPECT_THAT(std::string(ranks_[1]->Await().message()), HasSubstr(kWhy));
}

TEST_F(DialogueEnds, WithAnErrorOfItsOwn) {
  ranks_[0]->StartPush();
  ranks_[1]->in()[0] = std::numeric_limits<float>::infinity();
  ranks_[1]->StartPush();
  EXPECT_EQ(ranks_[1]->Await().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(WhatTheOtherHears(),
              HasSubstr("the weights of worker 1 are not finite"));
}

// They would only notice that the rank has gone.
TEST(Dialogue, TellsTheOtherServersOfOneThatHasEnded) {
  for (JobConfig job : {Job(1), ExchangeJob(1)}) {
    job.mutable_cluster()->set_num_servers(2);
    Servers servers(&job);
    auto ranks = Start(job);
    servers.Stop(1, absl::AbortedError("disk full"));
    // Until it has ended, it may still answer a push.
    EXPECT_TRUE(absl::IsAborted(servers.ResultOf(1)));
    ranks[0]->StartPush();
    EXPECT_THAT(std::string(ranks[0]->Await().message()),
                HasSubstr("disk full"));
    EXPECT_THAT(std::string(servers.ResultOf(0).message()),
                AllOf(HasSubstr("worker 0 (host:0) gave up: server 1 at "),
                      HasSubstr("disk full")));
  }
}

// Here a server ends before the session is open.
TEST(Dialogue, TellsTheServersThatItCannotReachAnother) {
  JobConfig job = Job(1);
  job.mutable_cluster()->set_startup_timeout_seconds(0.5);
  job.mutable_cluster()->set_num_servers(2);
  Servers servers(&job);
  job.mutable_cluster()->set_servers(1, "127.0.0.1:1");
  TrainingProcess process(job, 0);
  EXPECT_FALSE(process.Ask(BridgeOp::kOpen).ok());
  EXPECT_THAT(std::string(servers.ResultOf(0).message()),
              HasSubstr("worker 0 (host:0) gave up: server 1 at 127.0.0.1:1 "
                        "cannot be reached"));
}

TEST(Dialogue, EndsWhileItWaitsForServers) {
  JobConfig job = Job(1);
  // Nobody listens there.
  job.mutable_cluster()->add_servers("127.0.0.1:1");
  job.mutable_cluster()->set_startup_timeout_seconds(600);
  TrainingProcess process(job, 0);
  process.Tell(BridgeOp::kOpen);
  process.HangUp();
  EXPECT_TRUE(absl::IsUnavailable(process.Result()));
}

TEST(Dialogue, AServerThatDoesNotComeIsNamed) {
  JobConfig job = Job(1);
  job.mutable_cluster()->add_servers("127.0.0.1:1");
  job.mutable_cluster()->set_startup_timeout_seconds(0.2);
  TrainingProcess process(job, 0);
  const absl::Status late = process.Ask(BridgeOp::kOpen);
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), HasSubstr("127.0.0.1:1"));
}

}  // namespace
}  // namespace ps
