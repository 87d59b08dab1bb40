#include "tools/bench/load/replayed_weights.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"

namespace ps {
namespace {

// Elements whose means and weights stay in the cache over all iterations.
constexpr int64_t kBlock = 1024;

// Not a power of two, so that slices begin with different values.
constexpr int64_t kFirstPeriod = 11;
constexpr float kFirstUnit = 0x1p-20f;

absl::Status Unknown(absl::string_view field, absl::string_view value) {
  return absl::UnimplementedError(absl::StrCat(
      "weights are not known beforehand with ", field, " ", value));
}

// weights[i] -= rate mean[i], with product and difference rounded separately,
// as on processors without fused operations.
void Step(float rate, const float* __restrict mean, float* __restrict weights) {
  for (int64_t i = 0; i < kBlock; ++i) {
    const float change = rate * mean[i];
    weights[i] -= change;
  }
}

// One slice: the mean gradient of each iteration of the ring, and which
// elements any of them touches.
class SliceMeans {
 public:
  SliceMeans(const Replay& replay, const Slice& slice)
      : ring_(replay.payloads.plan().ring),
        means_(ring_, std::vector<float>(slice.size())),
        touched_(slice.size()) {
    const int workers = replay.job.cluster().num_workers();
    std::vector<uint32_t> indices;
    std::vector<float> values;
    for (int64_t t = 0; t < ring_; ++t) {
      std::vector<float>& mean = means_[t];
      for (int rank = 0; rank < workers; ++rank) {
        const PayloadBuffer& payload =
            replay.payloads.At(rank, t)[slice.bucket][slice.index];
        DecodePayload({payload.span()}, &indices, &values);
        for (size_t i = 0; i < indices.size(); ++i) {
          mean[indices[i]] += values[i];
          touched_[indices[i]] = 1;
        }
      }
      if (workers == 1) continue;
      for (float& x : mean) x /= static_cast<float>(workers);
    }
  }

  bool touched(int64_t i) const { return touched_[i] != 0; }

  // Sets weights[k] to element at[k] of the slice after `iterations`
  // iterations. `weights` has room for kBlock.
  void Replay(const std::vector<int64_t>& at, int64_t iterations, float rate,
              float* weights) const {
    std::vector<float> block(ring_ * kBlock);
    for (int64_t t = 0; t < ring_; ++t) {
      for (size_t k = 0; k < at.size(); ++k) {
        block[t * kBlock + static_cast<int64_t>(k)] = means_[t][at[k]];
      }
    }
    for (int64_t t = 0; t < iterations; ++t) {
      Step(rate, block.data() + t % ring_ * kBlock, weights);
    }
  }

 private:
  const int64_t ring_;
  std::vector<std::vector<float>> means_;  // [ring][slice]
  std::vector<uint8_t> touched_;           // [slice]
};

// The elements of a slice, and its offset in the model.
struct Checked {
  int64_t begin = 0;
  int64_t model_elements = 0;
  const float* weights = nullptr;  // The slice's.
};

absl::Status Compare(const Checked& checked, int64_t i, float right) {
  // Written so that a NaN fails, too.
  if (checked.weights[i] == right) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "element ", checked.begin + i, " of ", checked.model_elements, " is ",
      checked.weights[i], "; must be ", right));
}

absl::Status CheckSlice(const Replay& replay, int64_t iterations,
                        const Slice& slice, const Checked& checked) {
  const SliceMeans means(replay, slice);
  const float rate = static_cast<float>(replay.job.optimizer().learning_rate());
  std::vector<float> first(slice.size());
  FillFirstReplayWeights(checked.begin, absl::MakeSpan(first));
  std::vector<int64_t> at;
  std::vector<float> right(kBlock);
  for (int64_t i = 0; i < slice.size();) {
    at.clear();
    for (; i < slice.size() && static_cast<int64_t>(at.size()) < kBlock; ++i) {
      if (means.touched(i)) {
        at.push_back(i);
      } else {
        PS_RETURN_IF_ERROR(Compare(checked, i, first[i]));
      }
    }
    for (size_t k = 0; k < at.size(); ++k) right[k] = first[at[k]];
    means.Replay(at, iterations, rate, right.data());
    for (size_t k = 0; k < at.size(); ++k) {
      PS_RETURN_IF_ERROR(Compare(checked, at[k], right[k]));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WeightsCanBeChecked(const JobConfig& job) {
  const OptimizerConfig& optimizer = job.optimizer();
  if (optimizer.name() != "sgd") {
    return Unknown("optimizer.name", optimizer.name());
  }
  if (optimizer.weight_decay() != 0) {
    return Unknown("optimizer.weight_decay",
                   absl::StrCat(optimizer.weight_decay()));
  }
  if (optimizer.majority_vote()) {
    return Unknown("optimizer.majority_vote", "true");
  }
  if (optimizer.clip_norm() != 0) {
    return Unknown("optimizer.clip_norm", absl::StrCat(optimizer.clip_norm()));
  }
  if (job.schedule().name() != "constant" ||
      job.schedule().warmup_updates() != 0) {
    return Unknown("a schedule that is", "not constant");
  }
  if (job.downlink().mode() == DownlinkConfig::COMPRESSED) {
    return Unknown("downlink.mode", "COMPRESSED");
  }
  if (job.downlink().value_code() != "fp32") {
    return Unknown("downlink.value_code", job.downlink().value_code());
  }
  if (job.consistency().mode() != ConsistencyConfig::SYNCHRONOUS ||
      job.consistency().step_timeout_seconds() != 0) {
    return Unknown("a consistency that does", "not wait for all workers");
  }
  return absl::OkStatus();
}

void FillFirstReplayWeights(int64_t begin, absl::Span<float> weights) {
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] =
        kFirstUnit *
        static_cast<float>((begin + static_cast<int64_t>(i)) % kFirstPeriod);
  }
}

absl::Status CheckReplayedWeights(const Replay& replay, int64_t iterations,
                                  absl::Span<const float> weights) {
  int64_t bucket_begin = 0;
  for (int b = 0; b < replay.shard_map.num_buckets(); ++b) {
    for (const Slice& slice : replay.shard_map.slices(b)) {
      Checked checked;
      checked.begin = bucket_begin + slice.begin;
      checked.model_elements = static_cast<int64_t>(weights.size());
      checked.weights = weights.data() + checked.begin;
      PS_RETURN_IF_ERROR(CheckSlice(replay, iterations, slice, checked));
    }
    bucket_begin += replay.shard_map.bucket_sizes()[b];
  }
  return absl::OkStatus();
}

}  // namespace ps
