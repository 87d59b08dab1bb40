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

// The errors of calls that newer ones supersede.
inline constexpr char kRepeatedPush[] =
    "superseded by a repeat of the same push";

// Receives positions, exactly once, under the rules of PushDone. An empty
// buffer makes the caller a leader.
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

  // Takes a worker's call for positions (WeightSlice::GetPositions). Returns
  // true if it waits: it may be this worker's turn, or nobody's any more.
  bool Ask(int rank, int64_t iteration, const SliceState& state,
           const WorkerPast* past, PositionsDone done);

  // Appoints another leader of the next update, if that is due because the
  // previous one is not among `awaited_ranks` or is late. Returns when it will
  // be due: never if updates drop no workers.
  absl::Time Appoint(absl::Time now,
                     absl::FunctionRef<std::set<int>()> awaited_ranks,
                     const SliceState& state);

  // The workers whose calls wait.
  std::set<int> Waiting() const;

  // Whether a push has values for positions that others may have replaced: this
  // server was restarted after it had sent them.
  bool Forgot(const WorkerPush& push, const SliceState& state) const;

  // Completes a push that lacks positions. Returns false if its leader has not
  // pushed yet: the push must then be held. One of an iteration whose update is
  // over is unchanged. Errors: kInvalidArgument.
  absl::StatusOr<bool> Complete(const SliceState& state, const WorkerPast* past,
                                WorkerPush* push) const;
  // Holds a push, in place of an earlier one, whose call gets kCancelled.
  void Hold(WorkerPush push, PushDone done);

  // Checks a push that only the server-side codec can read. Errors:
  // kInvalidArgument.
  absl::Status CheckCoded(const SliceState& state, const WorkerPast* past,
                          WorkerPush* push) const;

  // Returns the positions that this push selects; nullopt if it is not a
  // leader's. Errors: kInvalidArgument if others could not use them.
  absl::StatusOr<std::optional<PayloadBuffer>> SelectedBy(
      const WorkerPush& push) const;

  // Keeps the positions of a leader's push that was counted, those of the first
  // of several leaders, and serves the workers that waited.
  void Keep(int64_t iteration, PayloadBuffer positions,
            const SliceState& state);
  // Keeps the positions of the last of these updates, for which a restarted
  // worker may ask. Errors: those of SelectedBy.
  absl::Status KeepLastOf(const SliceHistory& history);
  // Discards the positions of earlier iterations.
  void ForgetBefore(int64_t iteration);

  // Answer waiting calls: a worker's question, also its push, or all calls.
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
  // The leader of the next update, and the end of its turn.
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
  // Returns the positions for this worker; nullopt if they are not known.
  absl::StatusOr<std::optional<PayloadBuffer>> For(
      int rank, int64_t iteration, const WorkerPast* past) const;
  void Serve(int64_t iteration, const SliceState& state);

  const SliceOptions options_;
  const std::function<void(WorkerPush, PushDone)> retry_;
  const int num_workers_;
  // Whether the workers share the positions of this slice.
  const bool shared_;
  const bool may_appoint_;  // Whether updates may drop workers.
  const absl::Duration step_timeout_;
  std::map<int64_t, PayloadBuffer> positions_;  // The positions by iteration.
  std::map<int, Question> questions_;           // By rank, like values_.
  std::map<int, HeldValues> values_;
  Turn turn_;
  // The leaders of one iteration besides the one whose turn it is.
  std::set<int> appointed_;
  int64_t appointed_for_ = -1;
  // [num_workers], the iteration of the positions that a worker was last sent.
  std::vector<int64_t> told_;
};

}  // namespace ps

#endif  // SERVER_SLICES_SLICE_POSITIONS_H_
