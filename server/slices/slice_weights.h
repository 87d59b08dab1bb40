// The weights of one slice: adds up gradients, takes the optimizer's step and
// creates the answer to workers.
#ifndef SERVER_SLICES_SLICE_WEIGHTS_H_
#define SERVER_SLICES_SLICE_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/payload/payload_format.h"
#include "compressors/state_io.h"
#include "optimizers/optimizer.h"
#include "server/slices/change_log.h"
#include "server/slices/downlink.h"
#include "server/slices/slice_options.h"
#include "transport/server_timings.h"

namespace ps {

// The workers' pushes for one update, in the order in which they are added.
struct GradientPayloads {
  std::vector<const PayloadPieces*> payloads;  // Valid; not owned.
  std::vector<int64_t> samples;                // WorkerPush.samples of each.
  bool any_dense = false;                      // Whether one is dense.
  bool all_dense = false;                      // Whether all are dense.
  int64_t sent_elements = 0;                   // The elements of all payloads.
};

// Checks the payload with which a slice begins: dense and fp32 or, with
// UpdateRule::kExchange, without elements. Errors: kInvalidArgument.
absl::Status CheckFirst(UpdateRule rule, const PayloadInfo& info);

// Returns the WeightsDigest of a valid, dense payload.
uint64_t DigestOf(const PayloadPieces& payload, int64_t num_elements);

// The weights; with UpdateRule::kExchange, the mean of the last update. An
// update consists of Begin and, until it is finished, calls of
// Continue with the requested totals over all slices of all servers. Not
// thread-safe.
class SliceWeights {
 public:
  // Creates the weights. `first` must be valid and pass CheckFirst. Errors:
  // those of creating the optimizer or the downlink.
  static absl::StatusOr<std::unique_ptr<SliceWeights>> Create(
      const SliceOptions& options, const PayloadPieces& first);

  // Loads the weights that Save wrote, for the same options. Errors: kDataLoss;
  // those of Create.
  static absl::StatusOr<std::unique_ptr<SliceWeights>> Load(
      const SliceOptions& options, StateReader* reader);

  // Saves the weights. Must not be called during an update.
  void Save(StateWriter* writer) const;

  // Returns all the values that workers should hold now: a dense payload.
  PayloadBuffer All() const { return downlink_->All(weights_); }

  // Returns the digest of the values in All(): XXH3, 64 bits, of the values as
  // little-endian fp32.
  uint64_t Digest() const;

  // Returns the answer to a worker whose weights have received `version`
  // updates; used if each push is an update.
  absl::StatusOr<DownlinkPayload> Since(int64_t version,
                                        ServerTimings* timings);

  // The number of times that an update asks for totals.
  int num_stages() const { return layer_wise() ? 2 : clips() ? 1 : 0; }

  // The result of one step of an update.
  struct Outcome {
    // The sums of squares over each segment of SliceOptions, whose totals
    // Continue needs; empty when the update is finished.
    std::vector<Squares> squares;
    // The answer to workers when the update is finished. Empty if each push is
    // an update; see Since.
    DownlinkPayload answer;
  };

  // Begins an update. `gradients` is not used after the call. Errors: kDataLoss
  // for weights that are not finite, if this is detected.
  absl::StatusOr<Outcome> Begin(int64_t update,
                                const GradientPayloads& gradients,
                                ServerTimings* timings);

  // Continues the update. stretch_totals[i] are the squares of the whole tensor
  // of segment i. `norm` is the Euclidean norm of the whole gradient, if
  // squares of the gradient were requested. If it is not finite, no weights
  // change: depending on training.non_finite the result is kDataLoss, or the
  // update is skipped.
  absl::StatusOr<Outcome> Continue(const std::vector<Squares>& stretch_totals,
                                   double norm, ServerTimings* timings);

 private:
  explicit SliceWeights(const SliceOptions& options);

  // Initialises the members that depend on the initial weights.
  absl::Status Init();

  bool clips() const {
    return options_.rule == UpdateRule::kOptimizer &&
           options_.config->optimizer().clip_norm() > 0;
  }
  bool layer_wise() const {
    return optimizer_ != nullptr && optimizer_->layer_wise();
  }
  // Turns sums into means or into majority votes. counts: how many have sent
  // each element; null: all have.
  void Average(float* sums, int64_t n, const int* counts = nullptr) const;
  // Returns memory for the new weights, which contains the old ones.
  float* WritableWeights();

  bool averages_senders() const {
    return options_.config->consistency().mean() == ConsistencyConfig::SENDERS;
  }
  // Sets counts[i] to how many payloads have element i.
  void CountSenders(const std::vector<const PayloadPieces*>& payloads,
                    std::vector<int>* counts) const;
  void SumTouched(const GradientPayloads& gradients, ServerTimings* timings);
  void SumAll(const GradientPayloads& gradients, ServerTimings* timings);
  // Like SumAll and then Step, in pieces that stay in the cache.
  void SumAndStep(const GradientPayloads& gradients, ServerTimings* timings);
  std::vector<Squares> GradientSquares() const;
  // Swaps the gradient and its indices with memory that all slices of a thread
  // share.
  void SwapWithThread();
  absl::StatusOr<Outcome> NextStage(ServerTimings* timings);
  void Step();
  // Steps elements [begin, end), each with the learning rate of its tensor;
  // gradient and weights are those of element `begin`.
  void StepRange(int64_t begin, int64_t end, const float* gradient,
                 float* weights);
  // Also replaces gradient_ by the new weights.
  void StepTouched(float* weights);
  // Replaces the last mean by this update's.
  void WriteMean(float* mean);
  // Calls visit(end, info) for consecutive segments of [begin, end) with equal
  // rates, up to element `end` each.
  template <typename Visit>
  void ForRates(int64_t begin, int64_t end, Visit visit) const;
  // Finishes the update. `changed`: see Downlink::Changes.
  absl::StatusOr<Outcome> Finish(const ChangedElements* changed,
                                 ServerTimings* timings);

  // The progress of an update.
  enum class Stage { kSummed, kNorm, kLayers };

  const SliceOptions options_;
  // Whether each push is an update. Workers then ask for changes, and log_
  // limits the answer to these if downlink.mode is UPDATE.
  const bool each_push_;
  std::optional<ChangeLog> log_;
  std::vector<uint32_t> since_;      // Scratch memory of Since.
  std::vector<float> since_values_;  // The same.
  PayloadBuffer weights_;  // Dense, fp32. Shared with answers being sent.
  std::unique_ptr<Optimizer> optimizer_;  // Null for means.
  // Elements of a mean that may not be 0, unless it may have no 0 at all.
  std::vector<uint32_t> filled_;
  bool all_filled_ = true;
  std::unique_ptr<Downlink> downlink_;

  // The state of the current update.
  UpdateInfo info_;
  int num_workers_ = 0;
  int64_t sent_elements_ = 0;
  Stage stage_ = Stage::kSummed;
  bool touched_only_ = false;  // Whether only elements of indices_ may change.
  std::vector<uint32_t> indices_;
  // The mean gradient of indices_, or of all elements.
  std::vector<float> gradient_;
};

}  // namespace ps

#endif  // SERVER_SLICES_SLICE_WEIGHTS_H_
