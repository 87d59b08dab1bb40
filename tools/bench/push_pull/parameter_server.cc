#include "tools/bench/push_pull/parameter_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/slice_elements.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/payload_buffer.h"
#include "tools/bench/client.h"
#include "tools/bench/push_pull/pushed_values.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

class Worker final : public DataPlane {
 public:
  Worker(const ParameterServerOptions& options, ShardMap shard_map)
      : options_(options),
        shard_map_(std::move(shard_map)),
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

  absl::Status Finish() override { return client_->Finish(absl::OkStatus()); }

 private:
  int64_t BucketBegin(int bucket) const {
    return bucket * options_.bucket_elements;
  }
  absl::Status MakePayloads();

  const ParameterServerOptions options_;
  const ShardMap shard_map_;
  std::unique_ptr<ParameterClient> client_;
  std::vector<float> weights_;  // [elements]; the last ones pulled.
  std::vector<std::vector<PayloadBuffer>> payloads_;  // [bucket][slice]
  int64_t payload_bytes_ = 0;
  int64_t iteration_ = 0;
};

absl::Status Worker::Join() {
  JobConfig job = options_.config;
  job.mutable_cluster()->clear_servers();
  job.mutable_cluster()->add_servers(options_.server);
  PS_ASSIGN_OR_RETURN(
      const ParameterClientOptions client,
      BenchClientOptions(job, options_.rank, options_.total_pushes));
  PS_ASSIGN_OR_RETURN(client_, ParameterClient::Connect(client, &shard_map_));
  if (options_.rank == 0) {
    FillFirstWeights(absl::MakeSpan(weights_));
    std::vector<const float*> buckets;
    for (int bucket = 0; bucket < shard_map_.num_buckets(); ++bucket) {
      buckets.push_back(weights_.data() + BucketBegin(bucket));
    }
    PS_RETURN_IF_ERROR(client_->InitializeWeights(buckets));
    // Only pulled weights may pass the checks later.
    std::fill(weights_.begin(), weights_.end(), 0.0f);
  }
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
      const int64_t begin = BucketBegin(bucket) + slice.begin;
      values.resize(slice.size());
      FillPushedValues(options_.rank, options_.config.cluster().num_workers(),
                       begin, absl::MakeSpan(values));
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
  for (int bucket = 0; bucket < shard_map_.num_buckets(); ++bucket) {
    BucketPush push;
    push.iteration = iteration_;
    push.bucket = bucket;
    push.wants_weights = options_.one_of > 1;
    PS_RETURN_IF_ERROR(client_->Push(push, payloads_[bucket]));
  }
  ++iteration_;
  PushTraffic traffic;
  traffic.payload_bytes = payload_bytes_;
  PS_RETURN_IF_ERROR(client_->AwaitAnswers([&](const SliceAnswer& answer) {
    traffic.answer_bytes += answer.bytes_down;
    return absl::OkStatus();
  }));
  return traffic;
}

absl::StatusOr<int64_t> Worker::Pull() {
  int64_t pulled = 0;
  PS_RETURN_IF_ERROR(
      client_->PullWeights(iteration_, 0, [&](const SliceAnswer& answer) {
        const Slice& slice = *answer.slice;
        float* const begin =
            weights_.data() + BucketBegin(slice.bucket) + slice.begin;
        DecodeDensePayload(answer.payload, absl::MakeSpan(begin, slice.size()));
        pulled += slice.size();
        return absl::OkStatus();
      }));
  if (pulled != options_.elements) {
    return absl::DataLossError(
        absl::StrCat("pulled ", pulled, " of ", options_.elements, " weights"));
  }
  return static_cast<int64_t>(sizeof(float)) * pulled;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataPlane>> JoinParameterServer(
    const ParameterServerOptions& options) {
  ShardMapOptions map;
  for (int64_t begin = 0; begin < options.elements;
       begin += options.bucket_elements) {
    map.bucket_sizes.push_back(
        std::min(options.bucket_elements, options.elements - begin));
  }
  map.num_servers = 1;
  map.max_slice_elements = MaxSliceElements(options.config);
  PS_ASSIGN_OR_RETURN(ShardMap shard_map, ShardMap::Create(map));
  auto worker = std::make_unique<Worker>(options, std::move(shard_map));
  PS_RETURN_IF_ERROR(worker->Join());
  return std::unique_ptr<DataPlane>(std::move(worker));
}

}  // namespace ps
