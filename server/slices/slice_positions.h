// Where the workers of a job share positions (compressors/compressor.h): the
// leader of an iteration selects positions in a slice, and followers ask for
// them and push values alone.
#ifndef SERVER_SLICES_SLICE_POSITIONS_H_
#define SERVER_SLICES_SLICE_POSITIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compressors/payload/payload_buffer.h"
#include "server/slices/replay.h"
#include "server/slices/slice_options.h"
#include "server/slices/slice_state.h"
#include "server/slices/update_log.h"
#include "server/slices/worker_push.h"

namespace ps {

// What a call gets that a newer one takes the place of.
inline constexpr char kRepeatedPush[] =
    "superseded by a repeat of the same push";

// Called exactly once, as PushDone. An empty buffer makes the caller a leader.
using PositionsDone = std::function<void(const absl::StatusOr<PayloadBuffer>&)>;

// Keeps the positions of one slice until nobody can need them, and the calls
// that wait for a leader. Part of WeightSlice, whose executor it runs in: not
// thread-safe. `state` is the slice's, and `past` that of the worker in
// question, null unless it was started again and has not caught up.
class SlicePositions {
 public:
  // `retry` gets a push that Hold was given, once it can be completed.
  SlicePositions(const SliceOptions& options,
                 std::function<void(WorkerPush, PushDone)> retry);

  // A worker asks for positions (WeightSlice::GetPositions). Returns true if
  // the call waits and Appoint should be called; it may be this worker's turn.
  bool Ask(int rank, int64_t iteration, const SliceState& state,
           const WorkerPast* past, PositionsDone done);

  // Gives the positions of the next update another leader, if that is due
  // because the one before it is not among `awaited_ranks` or is late. Returns
  // when it will be: never where updates leave no worker out.
  absl::Time Appoint(absl::Time now,
                     absl::FunctionRef<std::set<int>()> awaited_ranks,
                     const SliceState& state);

  // Whether a push has values for positions that others may have replaced: this
  // server was started again after it had told them.
  bool Forgot(const WorkerPush& push, const SliceState& state) const;

  // Completes a push that lacks positions. Returns false if its leader has not
  // pushed yet: it is to be held. A push of an iteration whose update is over
  // stays as it is. Errors: kInvalidArgument.
  absl::StatusOr<bool> Complete(const SliceState& state, const WorkerPast* past,
                                WorkerPush* push) const;
  // A repeat supersedes what was held; its call gets kCancelled.
  void Hold(WorkerPush push, PushDone done);

  // Has the compressor's part check a push that only it can read. Errors:
  // kInvalidArgument.
  absl::Status CheckCoded(const SliceState& state, const WorkerPast* past,
                          WorkerPush* push) const;

  // The positions that this push selects; nullopt if it is not a leader's.
  // Errors: kInvalidArgument if others could not use them.
  absl::StatusOr<std::optional<PayloadBuffer>> SelectedBy(
      const WorkerPush& push) const;

  // A leader's push of this iteration was counted: serves those who waited. Of
  // several leaders, the first one's positions are kept.
  void Keep(int64_t iteration, PayloadBuffer positions,
            const SliceState& state);
  // Keeps those of the last of these updates, for which a worker that was
  // started again may ask. Errors: as SelectedBy.
  absl::Status KeepLastOf(const SliceHistory& history);
  // Positions of earlier iterations are not needed any more.
  void ForgetBefore(int64_t iteration);

  // Answer what waits: a worker's question, also its push, and everything.
  void AnswerQuestion(int rank, const absl::StatusOr<PayloadBuffer>& answer);
  void AnswerAllOf(int rank, const absl::Status& failure);
  void Fail(const absl::Status& failure);

 private:
  struct Question {
    int64_t iteration = 0;
    PositionsDone done;
  };
  struct HeldValues {
    WorkerPush push;
    PushDone done;
  };
  // For the next update: who leads it, and until when.
  struct Turn {
    int64_t iteration = -1;
    int leader = 0;
    absl::Time end;
  };

  bool HasTurn(int rank, int64_t iteration) const;
  bool IsAppointed(int rank, int64_t iteration) const;
  std::optional<PayloadBuffer> Find(int64_t iteration) const;
  absl::StatusOr<std::optional<PayloadBuffer>> SelectedAmong(
      const std::vector<WorkerPush>& pushes) const;
  // What is to be told to this worker; nullopt if it is not known.
  absl::StatusOr<std::optional<PayloadBuffer>> For(
      int rank, int64_t iteration, const WorkerPast* past) const;
  void Serve(int64_t iteration, const SliceState& state);

  const SliceOptions options_;
  const std::function<void(WorkerPush, PushDone)> retry_;
  const int num_workers_;
  const bool shared_;       // The workers share the positions of this slice.
  const bool may_appoint_;  // Updates may leave workers out.
  const absl::Duration step_timeout_;
  std::map<int64_t, PayloadBuffer> positions_;  // By iteration.
  std::map<int, Question> questions_;           // By rank, like values_.
  std::map<int, HeldValues> values_;
  Turn turn_;
  // Leaders of one iteration besides the one whose turn it is.
  std::set<int> appointed_;
  int64_t appointed_for_ = -1;
  // The iteration whose positions each worker was told last. [num_workers]
  std::vector<int64_t> told_;
};

}  // namespace ps

#endif  // SERVER_SLICES_SLICE_POSITIONS_H_
