// A slice for which each worker's push is an update of its own: stale
// synchronous parallel (Ho et al., NIPS 2013) and asynchronous jobs.
#ifndef SERVER_SLICES_STALE_SLICE_H_
#define SERVER_SLICES_STALE_SLICE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "compressors/payload/payload_buffer.h"
#include "server/slices/slice_options.h"
#include "server/slices/slice_weights.h"
#include "server/slices/weight_slice.h"
#include "transport/server_work.h"

namespace ps {

// Updates are applied in the order in which pushes arrive. The answer to a
// worker's iteration t waits until every worker that is left has done t + 1 -
// staleness iterations (an asynchronous job does not wait), and contains the
// changes since the weights that the worker has. In a stale synchronous job,
// the answers to the first pulls wait until all workers have asked; otherwise a
// worker that starts late would get other weights. With staleness 0 all
// gradients are therefore computed at the same weights. For statistics, the
// last push of each worker is kept, the value is the mean of these, and no
// answer waits.
class StaleSlice final : public WeightSlice {
 public:
  explicit StaleSlice(const SliceOptions& options);

  UpdateRule rule() const override { return options_.rule; }
  int64_t num_elements() const override { return options_.num_elements; }
  absl::Status Initialize(const ReceivedPayload& payload) override;
  void Pull(int rank, int64_t iterations, PushDone done) override;
  void Push(WorkerPush push, PushDone done) override;
  void WorkerGone(int rank) override;
  void Fail(const absl::Status& failure) override;
  int64_t version() const override;
  std::set<int> AwaitedRanks() const override;

 private:
  // Totals over all pushes of all workers.
  struct Counts {
    int64_t sent_elements = 0;
    int64_t bytes_up = 0;
  };
  // The state of one worker.
  struct Worker {
    int64_t taken = 0;    // Iterations that it has pushed.
    int64_t applied = 0;  // Of those, iterations whose update is done.
    bool pulled = false;  // It has asked for the first weights.
    bool gone = false;
    double loss = 0;  // Loss of its last push.
    // The push that has not been answered; `done` is null if there is none.
    PushDone done;
    int64_t base_version = 0;
    int64_t staleness = 0;
    absl::Time start;  // Start and end of its update.
    absl::Time end;
    UpdatePhases phases;  // Time that the update took.
    // The totals at the time of the last answer to this worker.
    Counts answered;
  };
  struct WaitingPull {
    int rank = 0;
    int64_t iterations = 0;
    PushDone done;
  };

  absl::Status Check(const WorkerPush& push) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<UpdatePhases> Update(const WorkerPush& push, int64_t version)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(weights_mu_);
  // The number of iterations that every worker that is left has done.
  int64_t Slowest() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The mean over every worker's last push.
  double MeanLoss() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Answers every call that need not wait any longer.
  void Release();
  std::vector<PushDone> TakeAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const SliceOptions options_;
  // Whether a worker may be at most bound_ iterations ahead.
  const bool bounded_;
  const int64_t bound_;

  // Held while weights are read or written; taken before mu_.
  mutable Mutex weights_mu_;
  std::unique_ptr<SliceWeights> weights_ ABSL_GUARDED_BY(weights_mu_);
  // Statistics only: every worker's last push; empty before the first.
  std::vector<PayloadBuffer> last_ ABSL_GUARDED_BY(weights_mu_);

  mutable Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool initialized_ ABSL_GUARDED_BY(mu_) = false;
  // The digest of the first weights.
  uint64_t first_digest_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t version_ ABSL_GUARDED_BY(mu_) = 0;  // Changes under both locks.
  std::optional<bool> compress_next_ ABSL_GUARDED_BY(mu_);
  Counts counts_ ABSL_GUARDED_BY(mu_);
  std::vector<Worker> workers_ ABSL_GUARDED_BY(mu_);  // [num_workers]
  std::vector<WaitingPull> pulls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_SLICES_STALE_SLICE_H_
