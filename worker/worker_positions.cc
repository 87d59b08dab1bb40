#include "worker/worker_positions.h"

#include <utility>

#include "common/consistency.h"
#include "compressors/payload/shared_positions.h"

namespace ps {

WorkerPositions::WorkerPositions(const JobConfig& config, int worker_rank,
                                 int num_buckets, const ShardMap* shard_map,
                                 ParameterClient* client,
                                 PositionsHandler handler)
    : num_workers_(config.cluster().num_workers()),
      worker_rank_(worker_rank),
      asks_when_ready_(MayLeaveOut(config)),
      shard_map_(shard_map),
      client_(client),
      handler_(std::move(handler)) {
  if (!SharesPositions(config.compressor(), num_workers_)) return;
  positions_.resize(num_buckets);
  of_slices_.resize(num_buckets);
  arriving_.resize(num_buckets);
}

const SharedPositions* WorkerPositions::For(int bucket) const {
  return positions_.empty() ? nullptr : &positions_[bucket];
}

void WorkerPositions::Begin(int64_t push) {
  push_ = push;
  follows_ =
      !positions_.empty() && LeaderOf(push, num_workers_) != worker_rank_;
  for (size_t b = 0; b < positions_.size(); ++b) {
    const auto bucket = static_cast<int>(b);
    positions_[b] = SharedPositions();
    positions_[b].given = follows_;
    if (!follows_) continue;
    const size_t num_slices = shard_map_->slices(bucket).size();
    positions_[b].remarks.resize(num_slices);
    positions_[b].led.resize(num_slices);
    of_slices_[b].assign(num_slices, {});
    arriving_[b] = num_slices;
    if (!asks_when_ready_) Ask(bucket);
  }
}

void WorkerPositions::Ask(int bucket) {
  client_->AskForPositions(push_, bucket, handler_);
}

void WorkerPositions::Ready(int bucket) {
  if (follows_ && asks_when_ready_) Ask(bucket);
}

void WorkerPositions::Take(const PositionsAnswer& answer) {
  const int bucket = answer.slice->bucket;
  SharedPositions& positions = positions_[bucket];
  of_slices_[bucket][answer.slice->index] = answer.positions;
  positions.remarks[answer.slice->index] = answer.remarks;
  positions.led[answer.slice->index] = answer.leads;
  if (--arriving_[bucket] > 0) return;
  for (const Slice& slice : shard_map_->slices(bucket)) {
    for (const uint32_t index : of_slices_[bucket][slice.index]) {
      positions.indices.push_back(static_cast<uint32_t>(slice.begin + index));
    }
  }
}

std::vector<PayloadBuffer> WorkerPositions::ToPush(
    int bucket, const EncodedGradient& encoded) const {
  // A gradient that is not finite is not sent, nor are its positions.
  if (!follows_ || encoded.stats.non_finite) return encoded.parts;
  std::vector<PayloadBuffer> values;
  for (size_t i = 0; i < encoded.parts.size(); ++i) {
    const PayloadBuffer& part = encoded.parts[i];
    values.push_back(positions_[bucket].led[i] ? part : WithoutPositions(part));
  }
  return values;
}

}  // namespace ps
