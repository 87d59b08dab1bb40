// Helpers of tests that call a slice and check its answers.
#ifndef TESTS_SERVER_SLICE_CALLS_H_
#define TESTS_SERVER_SLICE_CALLS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "compressors/payload/payload.h"
#include "gtest/gtest.h"
#include "server/slices/weight_slice.h"

namespace ps {

inline ReceivedPayload Received(PayloadBuffer buffer) {
  ReceivedPayload received;
  auto owner = std::make_shared<PayloadBuffer>(std::move(buffer));
  received.pieces = {owner->span()};
  received.owner = std::move(owner);
  return received;
}

inline ReceivedPayload Dense(const std::vector<float>& values) {
  return Received(EncodeDense(values));
}

inline WorkerPush PushOf(int rank, int64_t iteration,
                         const std::vector<float>& values) {
  WorkerPush push;
  push.rank = rank;
  push.iteration = iteration;
  push.loss = rank + 1;
  push.count = static_cast<int64_t>(values.size());
  push.message_bytes = 100 + rank;
  push.payload = Dense(values);
  push.dense = true;
  return push;
}

// A sparse push for a slice of num_elements.
inline WorkerPush SparsePushOf(int rank, int64_t iteration,
                               int64_t num_elements,
                               const std::vector<uint32_t>& indices,
                               std::vector<float> values) {
  WorkerPush push = PushOf(rank, iteration, {});
  push.count = static_cast<int64_t>(indices.size());
  push.dense = false;
  absl::StatusOr<PayloadBuffer> payload = EncodeElements(
      PayloadCodes(), indices, absl::MakeSpan(values), 0, num_elements);
  EXPECT_TRUE(payload.ok()) << payload.status();
  push.payload = Received(*std::move(payload));
  return push;
}

// Collects the answers to pushes.
class Answers {
 public:
  PushDone Taker() {
    return [this](const absl::StatusOr<WeightAnswer>& answer) {
      MutexLock lock(&mu_);
      answers_.push_back(answer);
      came_.SignalAll();
    };
  }

  // Waits for the first answer; returns false if none arrives within a minute.
  bool Await() {
    const absl::Time deadline = SteadyClock()->Now() + absl::Minutes(1);
    MutexLock lock(&mu_);
    while (answers_.empty() && SteadyClock()->Now() < deadline) {
      came_.WaitFor(&mu_, deadline - SteadyClock()->Now());
    }
    return !answers_.empty();
  }

  std::vector<absl::StatusOr<WeightAnswer>> Get() {
    MutexLock lock(&mu_);
    return answers_;
  }

  // The status of the only answer.
  absl::Status OnlyStatus() {
    const auto answers = Get();
    EXPECT_EQ(answers.size(), 1u);
    return answers.empty() ? absl::UnknownError("none") : answers[0].status();
  }

 private:
  Mutex mu_;
  CondVar came_;
  std::vector<absl::StatusOr<WeightAnswer>> answers_ ABSL_GUARDED_BY(mu_);
};

inline std::vector<float> WeightsOf(const WeightAnswer& answer) {
  std::vector<uint32_t> indices;
  std::vector<float> values;
  DecodePayload({answer.weights.bytes.span()}, &indices, &values);
  return values;
}

inline std::string Bytes(const WeightAnswer& answer) {
  const auto bytes = answer.weights.bytes.span();
  return std::string(bytes.begin(), bytes.end());
}

inline SliceOptions OptionsOf(const JobConfig& config, int64_t num_elements) {
  SliceOptions options;
  options.config = &config;
  options.num_elements = num_elements;
  options.total_updates = 100;
  return options;
}

// Sets the initial weights of a slice that no other thread uses yet.
inline absl::Status Initialize(WeightSlice* slice, ReceivedPayload payload) {
  absl::Status result = absl::UnknownError("no answer");
  slice->Initialize(std::move(payload),
                    [&](const absl::Status& status) { result = status; });
  return result;
}

// All weights of a slice after this many iterations, by default as it is. The
// answer may come from another thread that answers calls at the same time.
inline absl::StatusOr<WeightAnswer> PullFrom(
    WeightSlice* slice, std::optional<int64_t> iterations = std::nullopt) {
  Answers answers;
  slice->Pull(0, iterations.value_or(std::max<int64_t>(slice->version(), 0)),
              answers.Taker());
  EXPECT_TRUE(answers.Await());
  const auto all = answers.Get();
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? absl::UnknownError("no answer") : all[0];
}

}  // namespace ps

#endif  // TESTS_SERVER_SLICE_CALLS_H_
