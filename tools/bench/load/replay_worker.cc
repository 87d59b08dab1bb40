#include "tools/bench/load/replay_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "tools/bench/load/replayed_weights.h"

namespace ps {

void ReplayCounts::Add(const ReplayCounts& other) {
  pushes += other.pushes;
  payload_bytes += other.payload_bytes;
  answer_bytes += other.answer_bytes;
  push.Add(other.push);
  iteration.Add(other.iteration);
}

std::vector<int64_t> ReplayCounts::Numbers() const {
  std::vector<int64_t> numbers = {pushes, payload_bytes, answer_bytes};
  const std::vector<int64_t> of_push = push.Numbers();
  numbers.push_back(static_cast<int64_t>(of_push.size()));
  numbers.insert(numbers.end(), of_push.begin(), of_push.end());
  const std::vector<int64_t> of_iteration = iteration.Numbers();
  numbers.insert(numbers.end(), of_iteration.begin(), of_iteration.end());
  return numbers;
}

absl::StatusOr<ReplayCounts> ReplayCounts::FromNumbers(
    const std::vector<int64_t>& numbers) {
  constexpr int64_t kFixed = 4;
  const int64_t size = static_cast<int64_t>(numbers.size());
  if (size < kFixed || numbers[3] < 0 || numbers[3] > size - kFixed) {
    return absl::InvalidArgumentError(
        absl::StrCat(size, " numbers do not form the counts of a replay"));
  }
  ReplayCounts counts;
  counts.pushes = numbers[0];
  counts.payload_bytes = numbers[1];
  counts.answer_bytes = numbers[2];
  const auto rest = absl::MakeConstSpan(numbers).subspan(kFixed);
  PS_ASSIGN_OR_RETURN(counts.push,
                      LatencyHistogram::FromNumbers(rest.first(numbers[3])));
  PS_ASSIGN_OR_RETURN(counts.iteration,
                      LatencyHistogram::FromNumbers(rest.subspan(numbers[3])));
  return counts;
}

ReplayWorker::ReplayWorker(const Replay* replay, int rank, bool holds_weights)
    : replay_(replay),
      holds_weights_(holds_weights),
      checked_(WeightsCanBeChecked(replay->job).ok()),
      worker_(&replay->job, &replay->shard_map, rank),
      weights_(holds_weights ? worker_.elements() : 0) {}

absl::Status ReplayWorker::Join() {
  if (worker_.rank() == 0) {
    FillFirstReplayWeights(0, absl::MakeSpan(weights_));
  }
  PS_RETURN_IF_ERROR(worker_.Join(weights_));
  // From now on the worker holds only weights that it has pulled.
  std::fill(weights_.begin(), weights_.end(), 0.0f);
  // Waits until worker 0 has sent the initial weights.
  return worker_.Pull(
      [this](const SliceAnswer& answer) { return Take(answer); });
}

absl::Status ReplayWorker::Take(const SliceAnswer& answer) {
  const Slice& slice = *answer.slice;
  if (answer.payload.empty()) {
    return absl::DataLossError(absl::StrCat(
        "an answer about slice ", slice.index, " came without weights"));
  }
  if (!holds_weights_) return absl::OkStatus();
  float* const weights = weights_.data() + worker_.Begin(slice);
  if (answer.difference) {
    AddPayload(answer.payload, weights);
  } else if (answer.info.index_code == IndexCode::kDense) {
    DecodeDensePayload(
        answer.payload,
        absl::MakeSpan(weights, static_cast<size_t>(slice.size())));
  } else {
    for (SparsePayloadReader reader(answer.payload); reader.Next();) {
      for (size_t i = 0; i < reader.indices().size(); ++i) {
        weights[reader.indices()[i]] = reader.values()[i];
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ReplayWorker::RunIteration() {
  const auto start = std::chrono::steady_clock::now();
  const int64_t iteration = worker_.iteration();
  const ReplayPayloads& payloads = replay_->payloads;
  PS_RETURN_IF_ERROR(worker_.Push(
      payloads.At(worker_.rank(), iteration), /*wants_weights=*/true,
      [&](const SliceAnswer& answer) -> absl::Status {
        if (checked_ && answer.version != iteration + 1) {
          return absl::DataLossError(absl::StrCat("an answer in iteration ",
                                                  iteration, " has version ",
                                                  answer.version));
        }
        ++counts_.pushes;
        counts_.answer_bytes += answer.bytes_down;
        counts_.push.Add(absl::ToInt64Nanoseconds(answer.latency));
        return Take(answer);
      }));
  counts_.payload_bytes += payloads.IterationBytes(worker_.rank(), iteration);
  counts_.iteration.Add(std::chrono::duration_cast<std::chrono::nanoseconds>(
                            std::chrono::steady_clock::now() - start)
                            .count());
  return absl::OkStatus();
}

absl::Status ReplayWorker::Iterate(int64_t iterations) {
  for (int64_t i = 0; i < iterations; ++i) {
    PS_RETURN_IF_ERROR(RunIteration());
  }
  return absl::OkStatus();
}

absl::Status ReplayWorker::Check() {
  // Where workers do not wait, others push after a worker's last answer.
  if (!holds_weights_ || WorkersDrift(replay_->job)) return absl::OkStatus();
  std::vector<float> pulled;
  PS_RETURN_IF_ERROR(
      worker_.Pull([&](const SliceAnswer& answer) -> absl::Status {
        const Slice& slice = *answer.slice;
        pulled.resize(slice.size());
        DecodeDensePayload(answer.payload, absl::MakeSpan(pulled));
        const int64_t begin = worker_.Begin(slice);
        for (int64_t i = 0; i < slice.size(); ++i) {
          const float held = weights_[begin + i];
          if (held == pulled[i]) continue;
          return absl::DataLossError(absl::StrCat(
              "element ", begin + i, " of ", weights_.size(), " is ", held,
              " according to the answers to pushes; the servers have ",
              pulled[i]));
        }
        return absl::OkStatus();
      }));
  if (!checked_) return absl::OkStatus();
  return CheckReplayedWeights(*replay_, worker_.iteration(), weights_);
}

absl::Status ReplayWorker::Finish(const absl::Status& failure) {
  return worker_.Finish(failure);
}

ReplayCounts ReplayWorker::TakeCounts() {
  return std::exchange(counts_, ReplayCounts());
}

}  // namespace ps
