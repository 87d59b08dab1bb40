// The weights of one slice: gathers every worker's push of an iteration, sums
// them in rank order, updates the weights with the mean, or with what the
// majority voted for (optimizer.majority_vote), and answers.
#ifndef SERVER_WEIGHT_SLICE_H_
#define SERVER_WEIGHT_SLICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "compressors/payload_buffer.h"
#include "proto/config.pb.h"
#include "server/optimizers/optimizer.h"
#include "transport/slice_message.h"

namespace ps {

// The same bytes for every worker.
struct WeightAnswer {
  int64_t version = 0;  // Updates that the weights have received.
  double mean_loss = 0;
  int64_t sent_elements = 0;
  int64_t bytes_up = 0;
  PayloadBuffer weights;
};

// Called exactly once for every push, from whichever thread completes it.
using PushDone = std::function<void(const absl::StatusOr<WeightAnswer>&)>;

struct WorkerPush {
  int rank = 0;
  int64_t iteration = 0;
  double loss = 0;
  int64_t count = 0;          // Elements in the payload.
  int64_t message_bytes = 0;  // On the wire.
  ReceivedPayload payload;    // Validated.
};

// What becomes of the workers' pushes.
enum class UpdateRule {
  kOptimizer,  // Gradients: the job's optimizer takes a step.
  kMean,       // Statistics: their mean is the new value.
};

// Thread-safe.
class WeightSlice {
 public:
  // `config` is not owned and outlives the slice; total_updates is the job's
  // number of iterations. Allocates nothing by num_elements, which a peer
  // chose: memory comes with the first weights.
  WeightSlice(const JobConfig* config, int64_t num_elements,
              int64_t total_updates, UpdateRule rule = UpdateRule::kOptimizer)
      : config_(config),
        num_elements_(num_elements),
        total_updates_(total_updates),
        rule_(rule) {}

  UpdateRule rule() const { return rule_; }

  int64_t num_elements() const { return num_elements_; }

  // First weights: [num_elements], validated. A second call changes nothing and
  // succeeds if the weights are equal. Errors: kFailedPrecondition if they are
  // not; an optimizer that cannot be made.
  absl::Status Initialize(const ReceivedPayload& payload);

  // Errors: kFailedPrecondition before Initialize.
  absl::StatusOr<WeightAnswer> Pull() const;

  // Adds one worker's push. When it is the last of its iteration, updates the
  // weights and answers all. A repeat counts once: before the update it takes
  // the place of the earlier caller, who gets kCancelled; after it, it gets the
  // stored answer. Errors, through `done`: kFailedPrecondition before
  // Initialize, or for an iteration that is neither this nor the last one.
  void Push(const WorkerPush& push, PushDone done);

  // Answers everyone who waits, now and from now on, with `failure`.
  void Fail(const absl::Status& failure);

  // -1 before Initialize.
  int64_t version() const;

  // Ranks whose push for the current version is missing.
  std::set<int> AwaitedRanks() const;

 private:
  struct Waiting {
    bool pushed = false;
    WorkerPush push;
    PushDone done;
  };

  void Update() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const JobConfig* const config_;  // Not owned.
  const int64_t num_elements_;
  const int64_t total_updates_;
  const UpdateRule rule_;

  mutable Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool initialized_ ABSL_GUARDED_BY(mu_) = false;
  // Empty until then.
  std::unique_ptr<Optimizer> optimizer_ ABSL_GUARDED_BY(mu_);
  std::vector<float> weights_ ABSL_GUARDED_BY(mu_);  // [num_elements]
  std::vector<float> sum_ ABSL_GUARDED_BY(mu_);      // [num_elements]
  WeightAnswer answer_ ABSL_GUARDED_BY(mu_);         // Of the last update.
  int num_pushed_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Waiting> waiting_ ABSL_GUARDED_BY(mu_);  // [num_workers]
};

}  // namespace ps

#endif  // SERVER_WEIGHT_SLICE_H_
