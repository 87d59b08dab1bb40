// The weights of one slice: adds up gradients, takes the optimizer's step, and
// says what workers must hear of it.
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
#include "server/optimizers/optimizer.h"
#include "server/slices/change_log.h"
#include "server/slices/downlink.h"
#include "server/slices/slice_options.h"

namespace ps {

// Seconds of work on one update.
struct UpdatePhases {
  double sum = 0;
  double optimizer = 0;
  double encode = 0;
};

// What workers pushed for one update, in the order in which it is added.
struct GradientPayloads {
  std::vector<const PayloadPieces*> payloads;  // Valid; not owned.
  bool any_dense = false;                      // One of them has all elements,
  bool all_dense = false;                      // or each has.
  int64_t sent_elements = 0;                   // In all of them.
};

// WeightsDigest of a valid, dense payload.
uint64_t DigestOf(const PayloadPieces& payload, int64_t num_elements);

// An update is Begin and, as long as it is not finished, Continue with the
// totals that were asked for, over all slices of all servers. Not thread-safe.
class SliceWeights {
 public:
  // first: valid, dense and fp32. Errors: an optimizer or a downlink that
  // cannot be made.
  static absl::StatusOr<std::unique_ptr<SliceWeights>> Create(
      const SliceOptions& options, const PayloadPieces& first);

  // What a worker must hold now: a dense payload.
  PayloadBuffer All() const { return downlink_->All(weights_); }

  // Of what All holds: XXH3, 64 bits, of the values as fp32 in little endian.
  uint64_t Digest() const;

  // Where each push is an update: what a worker must hear whose weights have
  // received so many updates.
  absl::StatusOr<DownlinkPayload> Since(int64_t version, UpdatePhases* phases);

  // How often an update must ask for totals.
  int num_stages() const { return layer_wise() ? 2 : clips() ? 1 : 0; }

  // What one step of an update came to.
  struct Outcome {
    // Sums of squares over each stretch of SliceOptions, whose totals Continue
    // wants; empty once the update is finished.
    std::vector<Squares> squares;
    // When finished: what workers must hear. Empty where each push is an
    // update: see Since.
    DownlinkPayload answer;
  };

  // Nothing of `gradients` is used after the call. Errors: kDataLoss for
  // weights that are not finite, where that shows.
  absl::StatusOr<Outcome> Begin(int64_t update,
                                const GradientPayloads& gradients,
                                UpdatePhases* phases);

  // stretch_totals[i]: over the whole tensor of stretch i; norm: Euclidean, of
  // the whole gradient, where squares of the gradient were asked for. If that
  // is not finite, nothing changes: kDataLoss, or the update is left out, as
  // training.non_finite says.
  absl::StatusOr<Outcome> Continue(const std::vector<Squares>& stretch_totals,
                                   double norm, UpdatePhases* phases);

 private:
  explicit SliceWeights(const SliceOptions& options);

  absl::Status Init(const PayloadPieces& first);

  bool clips() const {
    return options_.rule == UpdateRule::kOptimizer &&
           options_.config->optimizer().clip_norm() > 0;
  }
  bool layer_wise() const {
    return optimizer_ != nullptr && optimizer_->layer_wise();
  }
  // Makes the sums means, or votes.
  void Average(float* sums, int64_t n) const;
  // Room for the new weights, with the old ones in it.
  float* WritableWeights();

  void SumTouched(const GradientPayloads& gradients, UpdatePhases* phases);
  void SumAll(const GradientPayloads& gradients, UpdatePhases* phases);
  // As SumAll and Step, in stretches that stay in the cache.
  void SumAndStep(const GradientPayloads& gradients, UpdatePhases* phases);
  std::vector<Squares> GradientSquares() const;
  // The gradient and its indices, with memory that the thread's slices share.
  void SwapWithThread();
  absl::StatusOr<Outcome> NextStage(UpdatePhases* phases);
  void Step();
  // changed: as of Downlink::Changes.
  absl::StatusOr<Outcome> Finish(const std::vector<uint32_t>* changed,
                                 UpdatePhases* phases);

  // How far an update is.
  enum class Stage { kSummed, kNorm, kLayers };

  const SliceOptions options_;
  // Where each push is an update, workers ask for what changed; with the way
  // back UPDATE they are told no more than that.
  const bool each_push_;
  std::optional<ChangeLog> log_;
  std::vector<uint32_t> since_;  // Of Since.
  PayloadBuffer weights_;  // Dense, fp32. Shared with answers on their way.
  std::unique_ptr<Optimizer> optimizer_;  // Null for statistics.
  std::unique_ptr<Downlink> downlink_;

  // Of the update under way.
  UpdateInfo info_;
  int num_workers_ = 0;
  int64_t sent_elements_ = 0;
  Stage stage_ = Stage::kSummed;
  bool touched_only_ = false;  // Only indices_ may change.
  std::vector<uint32_t> indices_;
  // The mean gradient: of indices_, or of all elements.
  std::vector<float> gradient_;
};

}  // namespace ps

#endif  // SERVER_SLICES_SLICE_WEIGHTS_H_
