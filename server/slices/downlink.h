// The downlink: the part of a slice's new weights that is sent to workers.
#ifndef SERVER_SLICES_DOWNLINK_H_
#define SERVER_SLICES_DOWNLINK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/state_io.h"
#include "server/slices/slice_options.h"

namespace ps {

// The answer to all workers.
struct DownlinkPayload {
  PayloadBuffer bytes;
  // Whether workers add it to their weights; otherwise it replaces them. With
  // UpdateRule::kExchange an element that it lacks is 0.
  bool difference = false;
  // Whether it has every element that some worker pushed for this update.
  bool covers_pushes = false;
};

// Elements of a slice that may have changed, in ascending order.
struct ChangedElements {
  absl::Span<const uint32_t> indices;
  absl::Span<float> values;  // Their new values; the callee may change them.
};

// The downlink of one slice. Weights are passed as dense fp32 payloads
// (compressors/payload/payload.h). Not thread-safe.
class Downlink {
 public:
  virtual ~Downlink() = default;

  // Returns all the values that workers hold, for a worker that has none, as a
  // dense payload. If workers hold exactly the servers' weights, this is
  // `weights` itself, not a copy.
  virtual PayloadBuffer All(const PayloadBuffer& weights) const = 0;

  // Returns the payload for workers that have received every payload so far.
  // `changed`: the weights that may have changed since the last call, or null
  // for all. Errors: kDataLoss for weights that are not finite.
  virtual absl::StatusOr<DownlinkPayload> Changes(
      const PayloadBuffer& weights, const ChangedElements* changed) = 0;

  // Save and load the state that later calls depend on besides their arguments:
  // by default nothing. Load reads what Save wrote for the same options.
  // Errors: kDataLoss.
  virtual void Save(StateWriter* /*writer*/) const {}
  virtual absl::Status Load(StateReader* /*reader*/) {
    return absl::OkStatus();
  }
};

// Checks that all values are finite. Errors: kDataLoss, with advice.
absl::Status CheckFiniteWeights(absl::Span<const float> values);

// Creates the downlink that the config's `downlink` selects; for statistics,
// one that sends all of them in fp32. `weights` are the initial ones. Errors:
// those of creating a compressor.
absl::StatusOr<std::unique_ptr<Downlink>> NewDownlink(
    const SliceOptions& options, const PayloadBuffer& weights);

}  // namespace ps

#endif  // SERVER_SLICES_DOWNLINK_H_
