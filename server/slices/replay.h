// Replays updates that a slice has received before: for a server that was
// restarted, and for a worker that was.
#ifndef SERVER_SLICES_REPLAY_H_
#define SERVER_SLICES_REPLAY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/slices/slice_options.h"
#include "server/slices/slice_state.h"
#include "server/slices/update_log.h"
#include "server/slices/worker_push.h"

namespace ps {

// Returns the state to which a history leads from SliceState::Save's bytes or,
// if there are none, from its initial weights; the history may begin earlier.
// Errors: kDataLoss for an update that is missing or does not fit; those of
// SliceState::Load and Create.
absl::StatusOr<std::unique_ptr<SliceState>> StateAfter(
    const SliceOptions& options, const std::string& saved,
    const SliceHistory& history);

// The slice for a worker that was restarted from an earlier state, and has not
// caught up. Not thread-safe.
class WorkerPast {
 public:
  // Starts like StateAfter. Several workers may share a history, which must not
  // be null. Errors: those of StateAfter.
  static absl::StatusOr<std::unique_ptr<WorkerPast>> Create(
      const SliceOptions& options, const std::string& saved,
      std::shared_ptr<const SliceHistory> history);

  const SliceState& state() const { return *state_; }

  // Returns the update of this iteration; null if it is not to be repeated.
  const UpdateRecord* UpdateOf(int64_t iteration) const;

  // Returns the answer to a push that was counted before the worker was
  // restarted; nullopt for a newer one, with which it has caught up. Errors:
  // kFailedPrecondition if the push differs from the one that was counted.
  absl::StatusOr<std::optional<WeightAnswer>> Answer(const WorkerPush& push);

 private:
  WorkerPast(std::unique_ptr<SliceState> state,
             std::shared_ptr<const SliceHistory> history);

  const std::unique_ptr<SliceState> state_;
  const std::shared_ptr<const SliceHistory> history_;
};

}  // namespace ps

#endif  // SERVER_SLICES_REPLAY_H_
