#include "tools/bench/push_pull/parameter_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "tools/bench/push_pull/pushed_values.h"
#include "tools/bench/worker.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

class Worker final : public DataPlane {
 public:
  Worker(const JobConfig& job, const DataPlaneOptions& options,
         ShardMap shard_map)
      : options_(options),
        job_(job),
        shard_map_(std::move(shard_map)),
        worker_(&job_, &shard_map_, options.rank),
        weights_(options.elements) {}

  absl::Status Join();

  absl::StatusOr<PushTraffic> Push() override;
  absl::StatusOr<int64_t> Pull() override;

  absl::Status Check(int64_t pushes) const override {
    ExpectedValues expected;
    expected.first = 1;
    // Each update subtracts the mean.
    expected.mean = -static_cast<double>(pushes);
    expected.one_of = options_.one_of;
    return CheckValues(weights_, expected);
  }

  absl::Status Finish() override { return worker_.Finish(absl::OkStatus()); }

 private:
  absl::Status MakePayloads();

  const DataPlaneOptions options_;
  const JobConfig job_;
  const ShardMap shard_map_;
  BenchWorker worker_;
  std::vector<float> weights_;  // [elements]; the last ones pulled.
  BenchPayloads payloads_;
  int64_t payload_bytes_ = 0;
};

absl::Status Worker::Join() {
  FillFirstWeights(absl::MakeSpan(weights_));
  PS_RETURN_IF_ERROR(worker_.Join(weights_));
  // Only pulled weights may pass the checks later.
  std::fill(weights_.begin(), weights_.end(), 0.0f);
  PS_RETURN_IF_ERROR(MakePayloads());
  // Waits until worker 0 has sent the initial weights.
  return Pull().status();
}

absl::Status Worker::MakePayloads() {
  std::vector<float> values;
  std::vector<uint32_t> indices;
  for (int bucket = 0; bucket < shard_map_.num_buckets(); ++bucket) {
    std::vector<PayloadBuffer>& parts = payloads_.emplace_back();
    for (const Slice& slice : shard_map_.slices(bucket)) {
      const int64_t begin = worker_.Begin(slice);
      values.resize(slice.size());
      FillPushedValues(options_.rank, options_.num_workers, begin,
                       absl::MakeSpan(values));
      if (options_.one_of == 1) {
        parts.push_back(EncodeDense(values));
        payload_bytes_ += static_cast<int64_t>(sizeof(float)) * slice.size();
        continue;
      }
      indices.clear();
      size_t kept = 0;
      for (int64_t i = 0; i < slice.size(); ++i) {
        if ((begin + i) % options_.one_of != 0) continue;
        indices.push_back(static_cast<uint32_t>(i));
        values[kept++] = values[i];
      }
      values.resize(kept);
      PS_ASSIGN_OR_RETURN(
          PayloadBuffer part,
          EncodeSparse("auto", indices, values, /*begin=*/0, slice.size()));
      payload_bytes_ += static_cast<int64_t>(part.size_bytes());
      parts.push_back(std::move(part));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<PushTraffic> Worker::Push() {
  PushTraffic traffic;
  traffic.payload_bytes = payload_bytes_;
  PS_RETURN_IF_ERROR(worker_.Push(payloads_,
                                  /*wants_weights=*/options_.one_of > 1,
                                  [&traffic](const SliceAnswer& answer) {
                                    traffic.answer_bytes += answer.bytes_down;
                                    return absl::OkStatus();
                                  }));
  return traffic;
}

absl::StatusOr<int64_t> Worker::Pull() {
  PS_RETURN_IF_ERROR(worker_.Pull([this](const SliceAnswer& answer) {
    DecodeDensePayload(answer.payload,
                       absl::MakeSpan(weights_).subspan(
                           worker_.Begin(*answer.slice), answer.slice->size()));
    return absl::OkStatus();
  }));
  return static_cast<int64_t>(sizeof(float)) * options_.elements;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataPlane>> JoinParameterServer(
    const JobConfig& job, const DataPlaneOptions& options) {
  PS_ASSIGN_OR_RETURN(ShardMap shard_map, BenchShardMap(job, options.elements));
  auto worker = std::make_unique<Worker>(job, options, std::move(shard_map));
  PS_RETURN_IF_ERROR(worker->Join());
  return std::unique_ptr<DataPlane>(std::move(worker));
}

}  // namespace ps
