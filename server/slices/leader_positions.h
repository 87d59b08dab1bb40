// The positions that the leader of an iteration has selected in one slice, for
// compressors whose workers share positions (compressors/compressor.h).
#ifndef SERVER_SLICES_LEADER_POSITIONS_H_
#define SERVER_SLICES_LEADER_POSITIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compressors/payload/payload_buffer.h"
#include "server/slices/slice_options.h"
#include "server/slices/worker_push.h"

namespace ps {

// The positions of the leader among these pushes, which were validated. Errors:
// kInvalidArgument if its payload has none that others could use. Empty if it
// is not among them.
absl::StatusOr<std::optional<PayloadBuffer>> PositionsOfLeader(
    absl::Span<const WorkerPush> pushes, int num_workers);

// Puts positions into a push that lacks them, and validates its payload unless
// only the compressor can read it. Errors: kInvalidArgument.
absl::Status CompletePush(const PayloadBuffer& positions, int64_t num_elements,
                          WorkerPush* push);

// Keeps positions until nobody can need them. Not thread-safe.
class LeaderPositions {
 public:
  explicit LeaderPositions(const SliceOptions& options);

  // Whether the workers share the positions of this slice.
  bool shared() const { return shared_; }

  // Whether it is this worker's turn to lead.
  bool HasTurn(int rank, int64_t iteration) const;
  // Appoint adds leaders to the one whose turn it is, for one iteration at a
  // time.
  bool IsAppointed(int rank, int64_t iteration) const;
  void Appoint(int rank, int64_t iteration);
  bool IsLeader(int rank, int64_t iteration) const {
    return HasTurn(rank, iteration) || IsAppointed(rank, iteration);
  }

  // Of several leaders, the positions of the first are kept.
  void Keep(int64_t iteration, PayloadBuffer positions);
  void ForgetBefore(int64_t iteration);
  // Empty if there are none.
  std::optional<PayloadBuffer> Find(int64_t iteration) const;

 private:
  const bool shared_;
  const int num_workers_;
  // By iteration.
  std::map<int64_t, PayloadBuffer> positions_;
  std::set<int> appointed_;
  int64_t appointed_for_ = -1;
};

}  // namespace ps

#endif  // SERVER_SLICES_LEADER_POSITIONS_H_
