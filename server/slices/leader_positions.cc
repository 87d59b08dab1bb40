#include "server/slices/leader_positions.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"

namespace ps {

absl::StatusOr<std::optional<PayloadBuffer>> PositionsOfLeader(
    absl::Span<const WorkerPush> pushes, int num_workers) {
  for (const WorkerPush& push : pushes) {
    if (push.rank != LeaderOf(push.iteration, num_workers)) continue;
    PS_ASSIGN_OR_RETURN(PayloadBuffer positions,
                        PositionsOf(push.payload.pieces));
    return std::optional<PayloadBuffer>(std::move(positions));
  }
  return std::optional<PayloadBuffer>();
}

absl::Status CompletePush(const PayloadBuffer& positions, int64_t num_elements,
                          WorkerPush* push) {
  struct Owner {
    CompletedPayload completed;
    std::shared_ptr<const void> values;
  };
  auto owner = std::make_shared<Owner>();
  PS_ASSIGN_OR_RETURN(owner->completed,
                      WithPositions(push->payload.pieces, positions));
  if (!CodedByCompressor(owner->completed.pieces)) {
    PS_ASSIGN_OR_RETURN(const PayloadInfo info,
                        ValidatePayload(owner->completed.pieces, num_elements));
    push->count = info.count;
    push->dense = info.index_code == IndexCode::kDense;
  }
  owner->values = std::move(push->payload.owner);
  push->lacks_positions = false;
  push->completed = true;
  push->payload.pieces = owner->completed.pieces;
  push->payload.owner = std::move(owner);
  return absl::OkStatus();
}

LeaderPositions::LeaderPositions(const SliceOptions& options)
    : shared_(options.rule == UpdateRule::kOptimizer &&
              SharesPositions(options.config->compressor(),
                              options.config->cluster().num_workers())),
      num_workers_(options.config->cluster().num_workers()) {}

bool LeaderPositions::HasTurn(int rank, int64_t iteration) const {
  return shared_ && rank == LeaderOf(iteration, num_workers_);
}

bool LeaderPositions::IsAppointed(int rank, int64_t iteration) const {
  return iteration == appointed_for_ && appointed_.count(rank) > 0;
}

void LeaderPositions::Appoint(int rank, int64_t iteration) {
  if (iteration != appointed_for_) appointed_.clear();
  appointed_for_ = iteration;
  appointed_.insert(rank);
}

void LeaderPositions::Keep(int64_t iteration, PayloadBuffer positions) {
  positions_.emplace(iteration, std::move(positions));
}

void LeaderPositions::ForgetBefore(int64_t iteration) {
  positions_.erase(positions_.begin(), positions_.lower_bound(iteration));
}

std::optional<PayloadBuffer> LeaderPositions::Find(int64_t iteration) const {
  const auto found = positions_.find(iteration);
  if (found == positions_.end()) return std::nullopt;
  return found->second;
}

}  // namespace ps
