// One slice: which pushes count, in which order they are added, and who is
// answered.
#include "server/slices/weight_slice.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/norms/squares_exchange.h"
#include "tests/server/slice_calls.h"
#include "transport/push_samples.h"
#include "transport/weights_digest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WeightSliceTest : public ::testing::Test {
 protected:
  // With plain SGD and learning rate 1 the weights become minus the mean
  // gradient.
  WeightSliceTest() {
    config_.mutable_cluster()->set_num_workers(3);
    config_.mutable_optimizer()->set_learning_rate(1);
  }

  std::unique_ptr<WeightSlice> NewSlice(int64_t num_elements) {
    return std::make_unique<WeightSlice>(OptionsOf(config_, num_elements));
  }

  std::unique_ptr<WeightSlice> ZeroSlice(int64_t num_elements) {
    auto slice = NewSlice(num_elements);
    const absl::Status status =
        Initialize(slice.get(), Dense(std::vector<float>(num_elements)));
    EXPECT_TRUE(status.ok()) << status;
    return slice;
  }

  JobConfig config_;
};

TEST_F(WeightSliceTest, UpdatesWithTheMeanWhenTheLastWorkerHasPushed) {
  const auto slice = ZeroSlice(2);
  Answers answers;
  slice->Push(PushOf(2, 0, {3, 6}), answers.Taker());
  slice->Push(PushOf(0, 0, {6, 0}), answers.Taker());
  EXPECT_EQ(slice->AwaitedRanks(), std::set<int>{1});
  EXPECT_TRUE(answers.Get().empty());
  EXPECT_EQ(slice->version(), 0);
  slice->Push(PushOf(1, 0, {0, 3}), answers.Taker());
  EXPECT_EQ(slice->version(), 1);
  ASSERT_EQ(answers.Get().size(), 3u);
  for (const auto& answer : answers.Get()) {
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(WeightsOf(*answer), (std::vector<float>{-3, -3}));
    EXPECT_EQ(answer->version, 1);
    EXPECT_EQ(answer->mean_loss, 2);
    EXPECT_EQ(answer->sent_elements, 6);
    EXPECT_EQ(answer->bytes_up, 100 + 101 + 102);
  }
}

// 1e8 + 1 rounds to 1e8, so the sum shows the order of additions.
TEST_F(WeightSliceTest, SumsInRankOrderWhateverTheArrivalOrder) {
  const std::vector<float> gradients[] = {{1e8f, 1}, {1, 1e8f}, {-1e8f, -1e8f}};
  const std::vector<float> expected = {-(((1e8f + 1) + -1e8f) / 3),
                                       -(((1 + 1e8f) + -1e8f) / 3)};
  std::vector<int> order = {0, 1, 2};
  do {
    const auto slice = ZeroSlice(2);
    Answers answers;
    for (const int rank : order) {
      slice->Push(PushOf(rank, 0, gradients[rank]), answers.Taker());
    }
    ASSERT_EQ(answers.Get().size(), 3u);
    EXPECT_EQ(WeightsOf(*answers.Get()[0]), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(WeightSliceTest, AllArrivalOrdersGiveTheSameBits) {
  const uint64_t seed = 11;
  SCOPED_TRACE(seed);
  config_.mutable_optimizer()->set_name("momentum");
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> gradients(3, std::vector<float>(1000));
  for (auto& gradient : gradients) {
    for (float& g : gradient) g = normal(random);
  }
  std::string first;
  std::vector<int> order = {0, 1, 2};
  do {
    const auto slice = ZeroSlice(1000);
    Answers answers;
    for (int64_t iteration = 0; iteration < 3; ++iteration) {
      for (const int rank : order) {
        slice->Push(PushOf(rank, iteration, gradients[rank]), answers.Taker());
      }
    }
    ASSERT_EQ(answers.Get().size(), 9u);
    const std::string bytes = Bytes(*answers.Get().back());
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first);
  } while (std::next_permutation(order.begin(), order.end()));
}

// A worker that was started again from an earlier state gets the answers once
// more, and then goes on with the others.
std::vector<float> Normal(uint64_t seed, size_t n) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

// A push of these values, by every third position if it is to be sparse.
WorkerPush WeighedPush(int rank, int64_t iteration, bool sparse,
                       const std::vector<float>& values, int64_t samples) {
  WorkerPush push = PushOf(rank, iteration, values);
  if (sparse) {
    std::vector<uint32_t> indices;
    std::vector<float> picked;
    for (size_t i = 0; i < values.size(); i += 3) {
      indices.push_back(static_cast<uint32_t>(i));
      picked.push_back(values[i]);
    }
    push = SparsePushOf(rank, iteration, static_cast<int64_t>(values.size()),
                        indices, std::move(picked));
  }
  push.samples = samples;
  return push;
}

TEST_F(WeightSliceTest, PushesAreWeighedByTheirSamples) {
  constexpr size_t kSize = 1000;
  const int64_t samples[] = {3, 1, 4};
  const std::vector<float> steps[] = {Normal(1, kSize), Normal(2, kSize),
                                      Normal(3, kSize)};
  for (const bool sparse : {false, true}) {
    const auto slice = ZeroSlice(kSize);
    Answers answers;
    for (const int rank : {2, 0, 1}) {
      slice->Push(WeighedPush(rank, 0, sparse, steps[rank], samples[rank]),
                  answers.Taker());
    }
    ASSERT_TRUE(answers.Get()[0].ok()) << answers.Get()[0].status();
    const std::vector<float> weights = WeightsOf(*PullFrom(slice.get()));
    ASSERT_EQ(weights.size(), kSize);
    for (size_t i = 0; i < kSize; ++i) {
      if (sparse && i % 3 != 0) {
        ASSERT_EQ(weights[i], 0);
        continue;
      }
      // In rank order, each with its share of the three.
      float sum = 0;
      double exact = 0;
      for (int rank = 0; rank < 3; ++rank) {
        sum += static_cast<float>(steps[rank][i] * (samples[rank] * 3 / 8.0));
        exact += samples[rank] / 8.0 * steps[rank][i];
      }
      ASSERT_EQ(weights[i], -(sum / 3)) << i;
      ASSERT_NEAR(weights[i], -exact, 1e-6) << i;
    }
  }
}

TEST_F(WeightSliceTest, EqualSamplesHaveTheBitsOfNone) {
  config_.mutable_optimizer()->set_name("momentum");
  for (const bool sparse : {false, true}) {
    std::string expected;
    for (const int64_t samples :
         {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{4096}, kMaxPushSamples}) {
      const auto slice = ZeroSlice(1000);
      Answers answers;
      for (int64_t iteration = 0; iteration < 3; ++iteration) {
        for (int rank = 0; rank < 3; ++rank) {
          slice->Push(WeighedPush(rank, iteration, sparse,
                                  Normal(10 * iteration + rank, 1000), samples),
                      answers.Taker());
        }
      }
      ASSERT_EQ(slice->version(), 3);
      const std::string bytes = Bytes(*PullFrom(slice.get()));
      if (expected.empty()) expected = bytes;
      EXPECT_EQ(bytes, expected) << samples;
    }
  }
}

TEST_F(WeightSliceTest, SamplesThatWeighNothingAreRefused) {
  const auto refusal = [this](int64_t samples) {
    const auto slice = ZeroSlice(1);
    Answers answers;
    WorkerPush push = PushOf(0, 0, {1});
    push.samples = samples;
    slice->Push(std::move(push), answers.Taker());
    if (answers.Get().empty()) return std::string("none");
    EXPECT_TRUE(absl::IsInvalidArgument(answers.OnlyStatus()));
    return std::string(answers.OnlyStatus().message());
  };
  EXPECT_EQ(refusal(kMaxPushSamples), "none");
  for (const int64_t samples : {int64_t{-1}, kMaxPushSamples + 1,
                                std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(refusal(samples),
              absl::StrCat("a push is from ", samples,
                           " samples; must be from 1 to 1099511627776"));
  }
  config_.mutable_optimizer()->set_majority_vote(true);
  EXPECT_THAT(refusal(3), HasSubstr("optimizer.majority_vote is set"));
  config_.mutable_optimizer()->clear_majority_vote();
  config_.mutable_consistency()->set_mean(ConsistencyConfig::SENDERS);
  EXPECT_THAT(refusal(3), HasSubstr("consistency.mean is SENDERS"));
  config_.mutable_consistency()->set_mode(ConsistencyConfig::ASYNCHRONOUS);
  EXPECT_THAT(refusal(3), HasSubstr("consistency.mode is ASYNCHRONOUS"));
}

TEST_F(WeightSliceTest, AllWorkersTellTheirSamplesOrNone) {
  const auto slice = ZeroSlice(1);
  Answers answers;
  for (int rank = 0; rank < 3; ++rank) {
    WorkerPush push = PushOf(rank, 0, {1});
    push.samples = rank == 1 ? 0 : 5;
    slice->Push(std::move(push), answers.Taker());
  }
  ASSERT_EQ(answers.Get().size(), 3u);
  for (const auto& answer : answers.Get()) {
    EXPECT_TRUE(absl::IsInvalidArgument(answer.status()));
    EXPECT_THAT(std::string(answer.status().message()),
                HasSubstr("worker 0 tells that its push 0 is from 5 samples, "
                          "and worker 1 tells none"));
  }
}

TEST_F(WeightSliceTest, AWorkerGoesBackAlone) {
  config_.mutable_optimizer()->set_name("momentum");
  const std::vector<float> first(4);
  const auto slice = ZeroSlice(4);
  constexpr int kUpdates = 5;
  const auto push_of = [](int rank, int64_t iteration) {
    return PushOf(rank, iteration,
                  {1.0f * static_cast<float>(iteration), 2, 3, 4});
  };
  std::vector<std::string> given;
  SliceHistory history;
  history.first = Dense(first);
  for (int64_t iteration = 0; iteration < kUpdates; ++iteration) {
    Answers answers;
    UpdateRecord update;
    for (int rank = 0; rank < 3; ++rank) {
      slice->Push(push_of(rank, iteration), answers.Taker());
      update.pushes.push_back(push_of(rank, iteration));
    }
    ASSERT_EQ(answers.Get().size(), 3u);
    given.push_back(Bytes(*answers.Get()[1]));
    history.updates.emplace(iteration, std::move(update));
  }
  // Shared with worker 2, which goes back as well.
  auto shared = std::make_shared<const SliceHistory>(std::move(history));
  const std::weak_ptr<const SliceHistory> held = shared;
  for (const int rank : {1, 2}) {
    absl::Status rewound;
    slice->Rewind(rank, "", shared,
                  [&](const absl::Status& status) { rewound = status; });
    ASSERT_TRUE(rewound.ok()) << rewound;
  }
  shared = nullptr;
  Answers pulled;
  slice->Pull(1, 0, pulled.Taker());
  ASSERT_EQ(pulled.Get().size(), 1u);
  EXPECT_EQ(pulled.Get()[0]->version, 0);
  EXPECT_EQ(WeightsOf(*pulled.Get()[0]), first);
  Answers present;
  slice->Pull(1, kUpdates, present.Taker());
  EXPECT_TRUE(absl::IsFailedPrecondition(present.OnlyStatus()))
      << "it is not there yet";
  for (const int rank : {1, 2}) {
    EXPECT_FALSE(held.expired()) << rank;
    for (int64_t iteration = 0; iteration < kUpdates; ++iteration) {
      // The second time its answer has been lost.
      for (int repeat = 0; repeat < 2; ++repeat) {
        Answers answers;
        slice->Push(push_of(rank, iteration), answers.Taker());
        ASSERT_EQ(answers.Get().size(), 1u);
        ASSERT_TRUE(answers.Get()[0].ok()) << answers.Get()[0].status();
        EXPECT_EQ(answers.Get()[0]->version, iteration + 1);
        EXPECT_EQ(Bytes(*answers.Get()[0]), given[iteration]);
      }
    }
  }
  EXPECT_TRUE(held.expired()) << "both have caught up";
  EXPECT_EQ(slice->version(), kUpdates);
  Answers answers;
  slice->Push(push_of(1, kUpdates), answers.Taker());
  EXPECT_EQ(slice->AwaitedRanks(), (std::set<int>{0, 2}));
  slice->Push(push_of(0, kUpdates), answers.Taker());
  slice->Push(push_of(2, kUpdates), answers.Taker());
  EXPECT_EQ(answers.Get().size(), 3u);
  EXPECT_EQ(slice->version(), kUpdates + 1);
}

// It may have been another process of this server that let the worker go back.
TEST_F(WeightSliceTest, APullGetsTheVersionThatItNamesOrIsRefused) {
  const auto slice = ZeroSlice(1);
  for (int64_t version = 0; version < 3; ++version) {
    for (int64_t needed = 0; needed < 5; ++needed) {
      const absl::StatusOr<WeightAnswer> pulled = PullFrom(slice.get(), needed);
      if (needed == version) {
        ASSERT_TRUE(pulled.ok()) << pulled.status();
        EXPECT_EQ(pulled->version, version);
      } else {
        EXPECT_TRUE(absl::IsFailedPrecondition(pulled.status()))
            << needed << " at " << version << ": " << pulled.status();
      }
    }
    Answers answers;
    for (int rank = 0; rank < 3; ++rank) {
      slice->Push(PushOf(rank, version, {1}), answers.Taker());
    }
  }
}

TEST_F(WeightSliceTest, AWorkerThatDoesNotRepeatItselfIsRefused) {
  const auto slice = ZeroSlice(1);
  SliceHistory history;
  history.first = Dense({0});
  UpdateRecord update;
  Answers answers;
  for (int rank = 0; rank < 3; ++rank) {
    slice->Push(PushOf(rank, 0, {1}), answers.Taker());
    update.pushes.push_back(PushOf(rank, 0, {1}));
  }
  history.updates.emplace(0, std::move(update));
  slice->Rewind(
      2, "", std::make_shared<SliceHistory>(std::move(history)),
      [](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; });
  Answers other;
  slice->Push(PushOf(2, 0, {1.0000001f}), other.Taker());
  EXPECT_TRUE(absl::IsFailedPrecondition(other.OnlyStatus()))
      << other.OnlyStatus();
  EXPECT_THAT(std::string(other.OnlyStatus().message()),
              HasSubstr("worker 2, which was started again"));
}

TEST_F(WeightSliceTest, ARepeatBeforeTheUpdateCountsOnce) {
  const auto slice = ZeroSlice(1);
  Answers older, newer, others;
  slice->Push(PushOf(0, 0, {3}), older.Taker());
  slice->Push(PushOf(0, 0, {3}), newer.Taker());
  EXPECT_TRUE(absl::IsCancelled(older.OnlyStatus()));
  EXPECT_TRUE(newer.Get().empty());
  EXPECT_EQ(slice->AwaitedRanks(), (std::set<int>{1, 2}));
  slice->Push(PushOf(1, 0, {3}), others.Taker());
  slice->Push(PushOf(2, 0, {3}), others.Taker());
  ASSERT_TRUE(newer.OnlyStatus().ok());
  EXPECT_EQ(WeightsOf(*newer.Get()[0]), std::vector<float>{-3});
  EXPECT_EQ(newer.Get()[0]->bytes_up, 100 + 101 + 102);
  EXPECT_EQ(older.Get().size(), 1u) << "answered once";
}

TEST_F(WeightSliceTest, ARepeatAfterTheUpdateGetsTheStoredAnswer) {
  const auto slice = ZeroSlice(2);
  Answers answers, repeat;
  for (int rank = 0; rank < 3; ++rank) {
    slice->Push(PushOf(rank, 0, {1, 2}), answers.Taker());
  }
  slice->Push(PushOf(1, 0, {50, 60}), repeat.Taker());
  ASSERT_TRUE(repeat.OnlyStatus().ok());
  EXPECT_EQ(Bytes(*repeat.Get()[0]), Bytes(*answers.Get()[0]));
  EXPECT_EQ(repeat.Get()[0]->version, 1);
  EXPECT_EQ(repeat.Get()[0]->mean_loss, answers.Get()[0]->mean_loss);
  EXPECT_EQ(slice->version(), 1);
  EXPECT_EQ(slice->AwaitedRanks(), (std::set<int>{0, 1, 2}));
}

TEST_F(WeightSliceTest, OtherIterationsAreRefusedAndChangeNothing) {
  const auto slice = ZeroSlice(1);
  const std::string before = Bytes(*PullFrom(slice.get()));
  for (const int64_t iteration :
       {int64_t{1}, int64_t{2}, int64_t{-1}, int64_t{-2},
        std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min()}) {
    Answers answers;
    slice->Push(PushOf(0, iteration, {1}), answers.Taker());
    EXPECT_TRUE(absl::IsFailedPrecondition(answers.OnlyStatus())) << iteration;
  }
  EXPECT_EQ(slice->AwaitedRanks(), (std::set<int>{0, 1, 2}));
  EXPECT_EQ(Bytes(*PullFrom(slice.get())), before);
}

TEST_F(WeightSliceTest, IsOfNoUseBeforeItsInitialWeights) {
  const auto slice = NewSlice(1);
  Answers answers;
  slice->Push(PushOf(0, 0, {1}), answers.Taker());
  EXPECT_TRUE(absl::IsFailedPrecondition(answers.OnlyStatus()));
  EXPECT_TRUE(absl::IsUnavailable(PullFrom(slice.get()).status()));
  EXPECT_EQ(slice->version(), -1);
  EXPECT_EQ(slice->AwaitedRanks(), (std::set<int>{0, 1, 2}));
}

TEST_F(WeightSliceTest, InitialWeightsMayBeRepeatedButNotChanged) {
  const auto slice = NewSlice(2);
  ASSERT_TRUE(Initialize(slice.get(), Dense({1, 2})).ok());
  EXPECT_TRUE(Initialize(slice.get(), Dense({1, 2})).ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(Initialize(slice.get(), Dense({1, 3}))));
  EXPECT_EQ(WeightsOf(*PullFrom(slice.get())), (std::vector<float>{1, 2}));
  Answers answers;
  for (int rank = 0; rank < 3; ++rank) {
    slice->Push(PushOf(rank, 0, {0, 0}), answers.Taker());
  }
  EXPECT_EQ(slice->version(), 1);
  EXPECT_TRUE(Initialize(slice.get(), Dense({1, 2})).ok())
      << "the answer to the first call may have been lost";
  EXPECT_TRUE(
      absl::IsFailedPrecondition(Initialize(slice.get(), Dense({1, 3}))));
}

TEST_F(WeightSliceTest, FailAnswersEveryoneNowAndLater) {
  const auto slice = ZeroSlice(1);
  Answers waiting, later;
  slice->Push(PushOf(0, 0, {1}), waiting.Taker());
  slice->Push(PushOf(2, 0, {1}), waiting.Taker());
  slice->Fail(absl::AbortedError("worker 1 was lost"));
  ASSERT_EQ(waiting.Get().size(), 2u);
  for (const auto& answer : waiting.Get()) {
    EXPECT_EQ(answer.status(), absl::AbortedError("worker 1 was lost"));
  }
  slice->Push(PushOf(1, 0, {1}), later.Taker());
  EXPECT_TRUE(absl::IsAborted(later.OnlyStatus()));
  EXPECT_TRUE(absl::IsAborted(PullFrom(slice.get()).status()));
  EXPECT_TRUE(absl::IsAborted(Initialize(slice.get(), Dense({0}))));
  slice->Fail(absl::AbortedError("again"));
  EXPECT_EQ(waiting.Get().size(), 2u) << "answered once";
}

TEST_F(WeightSliceTest, SparsePushesAddWhereTheyPoint) {
  config_.mutable_downlink()->set_mode(DownlinkConfig::WEIGHTS);
  const auto slice = ZeroSlice(4);
  Answers answers;
  for (int rank = 0; rank < 3; ++rank) {
    const std::vector<uint32_t> indices = {1, 3};
    const std::vector<float> values = {3, 6};
    WorkerPush push = PushOf(rank, 0, values);
    push.payload = Received(*EncodeSparse("raw32", indices, values,
                                          /*begin=*/0, /*dense_size=*/4));
    push.dense = false;
    slice->Push(push, answers.Taker());
  }
  ASSERT_EQ(answers.Get().size(), 3u);
  EXPECT_EQ(WeightsOf(*answers.Get()[0]), (std::vector<float>{0, -3, 0, -6}));
}

// The step that results from each worker's votes, at learning rate 1.
std::vector<float> StepOfVotes(const JobConfig& config,
                               const std::vector<std::vector<float>>& votes) {
  JobConfig voting = config;
  voting.mutable_cluster()->set_num_workers(static_cast<int>(votes.size()));
  voting.mutable_optimizer()->set_majority_vote(true);
  const int64_t n = static_cast<int64_t>(votes[0].size());
  const std::unique_ptr<WeightSlice> slice =
      std::make_unique<WeightSlice>(OptionsOf(voting, n));
  EXPECT_TRUE(Initialize(slice.get(), Dense(std::vector<float>(n))).ok());
  PayloadCodes codes;
  codes.value_code = "sign";
  codes.value_config.set_sign_scale(ValueCodeConfig::ONE);
  Answers answers;
  for (size_t rank = 0; rank < votes.size(); ++rank) {
    WorkerPush push = PushOf(static_cast<int>(rank), 0, votes[rank]);
    std::vector<float> values = votes[rank];
    push.payload = Received(*EncodeDenseAs(codes, absl::MakeSpan(values)));
    slice->Push(push, answers.Taker());
  }
  EXPECT_EQ(answers.Get().size(), votes.size());
  return WeightsOf(*answers.Get()[0]);
}

TEST_F(WeightSliceTest, TheMajorityOfThreeDecidesEachElement) {
  // Magnitudes are ignored; zero counts as positive.
  EXPECT_EQ(StepOfVotes(config_, {{0.1f, -9, 5, -1, 0},
                                  {0.2f, -9, -1e-9f, -1, -1},
                                  {-70, 9, -1e-9f, -1, 0}}),
            (std::vector<float>{-1, 1, 1, 1, -1}));
}

TEST_F(WeightSliceTest, ATieOfTwoCountsAsPositive) {
  EXPECT_EQ(StepOfVotes(config_, {{1, -1, 1, -1}, {1, 1, -1, -1}}),
            (std::vector<float>{-1, -1, -1, 1}));
}

TEST_F(WeightSliceTest, WorkersWithoutAGradientDoNotVote) {
  config_.mutable_optimizer()->set_majority_vote(true);
  const auto slice = ZeroSlice(2);
  Answers answers;
  const auto push = [&](int rank, int64_t iteration, bool votes) {
    WorkerPush push = PushOf(rank, iteration, {-1, -1});
    if (!votes) {
      push.count = 0;
      push.dense = false;
      push.payload = Received(*EncodeSparse("raw32", {}, {}, /*begin=*/0,
                                            /*dense_size=*/2));
    }
    slice->Push(push, answers.Taker());
  };
  for (int rank = 0; rank < 3; ++rank) push(rank, 0, /*votes=*/false);
  EXPECT_EQ(WeightsOf(*answers.Get().back()), (std::vector<float>{0, 0}));
  for (int rank = 0; rank < 3; ++rank) push(rank, 1, /*votes=*/rank == 1);
  EXPECT_EQ(WeightsOf(*answers.Get().back()), (std::vector<float>{1, 1}));
}

TEST_F(WeightSliceTest, AnUnknownOptimizerIsAnErrorOfTheInitialWeights) {
  config_.mutable_optimizer()->set_name("no such rule");
  const auto slice = NewSlice(1);
  EXPECT_TRUE(absl::IsInvalidArgument(Initialize(slice.get(), Dense({1}))));
  EXPECT_EQ(slice->version(), -1);
}

// Each worker pushes from its own thread and sometimes repeats a push, while
// other threads read the state. This is for the thread sanitizer, and checks
// the number of answers.
TEST_F(WeightSliceTest, ConcurrentWorkersEachGetEveryAnswer) {
  constexpr int kIterations = 100;
  const auto slice = ZeroSlice(64);
  const std::vector<float> ones(64, 1.0f);
  std::vector<std::thread> workers;
  for (int rank = 0; rank < 3; ++rank) {
    workers.emplace_back([&, rank] {
      for (int64_t iteration = 0; iteration < kIterations; ++iteration) {
        Mutex mu;
        CondVar changed;
        int answered = 0;
        bool updated = false;
        const auto done = [&](const absl::StatusOr<WeightAnswer>& answer) {
          MutexLock lock(&mu);
          ++answered;
          if (answer.ok()) {
            updated = true;
            EXPECT_EQ(answer->version, iteration + 1);
          } else {
            EXPECT_TRUE(absl::IsCancelled(answer.status()));
          }
          changed.SignalAll();
        };
        const int pushes = iteration % 7 == rank ? 2 : 1;
        for (int i = 0; i < pushes; ++i) {
          slice->Push(PushOf(rank, iteration, ones), done);
        }
        MutexLock lock(&mu);
        while (answered < pushes) changed.Wait(&mu);
        EXPECT_TRUE(updated);
      }
    });
  }
  std::thread onlooker([&] {
    while (slice->version() < kIterations) {
      const absl::Status pulled = PullFrom(slice.get()).status();
      // There may have been another update.
      EXPECT_TRUE(pulled.ok() || absl::IsFailedPrecondition(pulled)) << pulled;
      EXPECT_LE(slice->AwaitedRanks().size(), 3u);
    }
  });
  for (std::thread& worker : workers) worker.join();
  onlooker.join();
  EXPECT_EQ(WeightsOf(*PullFrom(slice.get())),
            std::vector<float>(64, -1.0f * kIterations));
}

TEST_F(WeightSliceTest, DigestsOfTheRightWeightsPass) {
  const auto slice = NewSlice(2);
  ASSERT_TRUE(Initialize(slice.get(), Dense({1, -2})).ok());
  const std::vector<float> held = {1, -2};
  Answers answers;
  for (int rank = 0; rank < 3; ++rank) {
    WorkerPush push = PushOf(rank, 0, {1, 1});
    push.weights_digest = WeightsDigest(held.data(), 2);
    slice->Push(push, answers.Taker());
  }
  for (const auto& answer : answers.Get()) EXPECT_TRUE(answer.ok());
}

TEST_F(WeightSliceTest, ADigestOfOtherWeightsFailsTheSliceAndNamesTheWorker) {
  const auto slice = NewSlice(2);
  ASSERT_TRUE(Initialize(slice.get(), Dense({1, -2})).ok());
  const std::vector<float> held = {1, -2};
  const std::vector<float> other = {1, 2};
  Answers answers;
  for (int rank = 0; rank < 3; ++rank) {
    WorkerPush push = PushOf(rank, 0, {1, 1});
    push.weights_digest =
        WeightsDigest(rank == 1 ? other.data() : held.data(), 2);
    slice->Push(push, answers.Taker());
  }
  ASSERT_EQ(answers.Get().size(), 3u);
  for (const auto& answer : answers.Get()) {
    EXPECT_TRUE(absl::IsDataLoss(answer.status())) << answer.status();
    EXPECT_THAT(std::string(answer.status().message()),
                HasSubstr("worker 1 does not hold the weights"));
  }
  EXPECT_TRUE(absl::IsDataLoss(PullFrom(slice.get()).status()));
}

TEST_F(WeightSliceTest, APushThatWaitsForAWorkerThatHasFinishedFailsTheSlice) {
  for (const bool finishes_first : {false, true}) {
    const auto slice = NewSlice(2);
    ASSERT_TRUE(Initialize(slice.get(), Dense({1, -2})).ok());
    Answers answers;
    if (finishes_first) slice->WorkerGone(1);
    slice->Push(PushOf(0, 0, {1, 1}), answers.Taker());
    if (!finishes_first) slice->WorkerGone(1);
    EXPECT_TRUE(absl::IsFailedPrecondition(answers.OnlyStatus()));
    EXPECT_THAT(std::string(answers.OnlyStatus().message()),
                HasSubstr("worker 1 has finished"));
  }
}

// Answers when the test says so.
class HeldExchange final : public SquaresExchange {
 public:
  void Add(const SquaresRound& round, int, std::vector<Squares> squares,
           Done done) override {
    round_ = round;
    totals_.tensors = std::move(squares);
    done_ = std::move(done);
  }

  const SquaresRound& round() const { return round_; }
  void Answer() { done_(totals_); }

 private:
  SquaresRound round_ = {-1, 0};
  SquaresTotals totals_;
  Done done_;
};

class AwaitedNormsTest : public WeightSliceTest {
 protected:
  // Version 1; the update of iteration 1 waits for norms.
  AwaitedNormsTest() {
    config_.mutable_optimizer()->set_clip_norm(1e6);
    slice_ = std::make_unique<WeightSlice>(OptionsOf(config_, 1), &exchange_);
    EXPECT_TRUE(Initialize(slice_.get(), Dense({0})).ok());
    for (const int64_t iteration : {0, 1}) {
      for (int rank = 0; rank < 3; ++rank) {
        slice_->Push(PushOf(rank, iteration, {1}), answers_.Taker());
      }
      if (iteration == 0) exchange_.Answer();
    }
    EXPECT_EQ(answers_.Get().size(), 3u);
    EXPECT_TRUE(exchange_.round() == (SquaresRound{1, 0}));
  }

  HeldExchange exchange_;
  std::unique_ptr<WeightSlice> slice_;
  Answers answers_;
};

TEST_F(AwaitedNormsTest, TheWeightsBeforeTheUpdateMayBePulled) {
  EXPECT_EQ(slice_->version(), 1);
  EXPECT_THAT(slice_->AwaitedRanks(), testing::IsEmpty());
  const auto pulled = PullFrom(slice_.get());
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(pulled->version, 1);
  EXPECT_THAT(WeightsOf(*pulled), ElementsAre(-1));
  exchange_.Answer();
  EXPECT_EQ(slice_->version(), 2);
  EXPECT_THAT(WeightsOf(*pulled), ElementsAre(-1)) << "it is not written over";
}

TEST_F(AwaitedNormsTest, ARepeatOfTheLastPushGetsTheNewWeights) {
  Answers repeat;
  slice_->Push(PushOf(1, 0, {1}), repeat.Taker());
  EXPECT_TRUE(repeat.Get().empty());
  exchange_.Answer();
  ASSERT_TRUE(repeat.OnlyStatus().ok());
  EXPECT_EQ(repeat.Get()[0]->version, 2);
  EXPECT_FALSE(repeat.Get()[0]->dropped);
  EXPECT_THAT(WeightsOf(*repeat.Get()[0]), ElementsAre(-2));
  EXPECT_EQ(answers_.Get().size(), 6u);
}

TEST_F(AwaitedNormsTest, TotalsThatComeAfterAFailureChangeNothing) {
  slice_->Fail(absl::AbortedError("over"));
  EXPECT_EQ(answers_.Get().size(), 6u);
  exchange_.Answer();
  EXPECT_EQ(answers_.Get().size(), 6u) << "answered once";
  EXPECT_EQ(slice_->version(), 1);
}

TEST(WeightSlice, StatisticsAreReplacedByTheirMean) {
  JobConfig config;
  config.mutable_cluster()->set_num_workers(2);
  config.mutable_optimizer()->set_learning_rate(1000);
  SliceOptions options = OptionsOf(config, 2);
  options.total_updates = 1;
  options.rule = UpdateRule::kMean;
  const std::unique_ptr<WeightSlice> slice =
      std::make_unique<WeightSlice>(options);
  ASSERT_TRUE(Initialize(slice.get(), Dense({0, 1})).ok());
  // Statistics have their own count of iterations, which may exceed
  // total_updates.
  for (int64_t time = 0; time < 3; ++time) {
    const float x = static_cast<float>(time);
    Answers answers;
    slice->Push(PushOf(0, time, {x, 8}), answers.Taker());
    slice->Push(PushOf(1, time, {x + 3, -2}), answers.Taker());
    ASSERT_EQ(answers.Get().size(), 2u);
    ASSERT_TRUE(answers.Get()[0].ok()) << answers.Get()[0].status();
    EXPECT_EQ(answers.Get()[0]->version, time + 1);
    EXPECT_THAT(WeightsOf(*answers.Get()[0]), ElementsAre(x + 1.5f, 3));
  }
}

TEST(WeightSlice, StatisticsMustAllBeThere) {
  JobConfig config;
  config.mutable_cluster()->set_num_workers(1);
  SliceOptions options = OptionsOf(config, 2);
  options.rule = UpdateRule::kMean;
  const std::unique_ptr<WeightSlice> slice =
      std::make_unique<WeightSlice>(options);
  ASSERT_TRUE(Initialize(slice.get(), Dense({0, 1})).ok());
  Answers answers;
  WorkerPush push = PushOf(0, 0, {5});
  push.dense = false;
  push.payload = Received(*EncodeSparse("raw32", {1}, {5.0f}, 0, 2));
  slice->Push(push, answers.Taker());
  EXPECT_TRUE(absl::IsInvalidArgument(answers.OnlyStatus()));
  EXPECT_THAT(WeightsOf(*PullFrom(slice.get())), ElementsAre(0, 1));
}

TEST(WeightSlice, StatisticsAreNotWeighed) {
  JobConfig config;
  config.mutable_cluster()->set_num_workers(1);
  SliceOptions options = OptionsOf(config, 1);
  options.rule = UpdateRule::kMean;
  WeightSlice slice(options);
  ASSERT_TRUE(Initialize(&slice, Dense({0})).ok());
  Answers answers;
  WorkerPush push = PushOf(0, 0, {5});
  push.samples = 2;
  slice.Push(std::move(push), answers.Taker());
  EXPECT_TRUE(absl::IsInvalidArgument(answers.OnlyStatus()));
  EXPECT_THAT(std::string(answers.OnlyStatus().message()),
              HasSubstr("a push of statistics is from 2 samples"));
}

}  // namespace
}  // namespace ps
