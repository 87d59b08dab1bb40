// The way back: what of a slice's new weights workers are sent.
#ifndef SERVER_SLICES_DOWNLINK_H_
#define SERVER_SLICES_DOWNLINK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "compressors/payload/payload_buffer.h"
#include "server/slices/slice_options.h"

namespace ps {

// The same bytes for every worker.
struct DownlinkPayload {
  PayloadBuffer bytes;
  // To be added to what workers hold; else it replaces that.
  bool difference = false;
};

// One slice's. Weights come as dense fp32 payloads (compressors/payload/payload.h).
// Not thread-safe.
class Downlink {
 public:
  virtual ~Downlink() = default;

  // What a worker must hold now that holds nothing; a dense payload. Where
  // workers hold the very weights this is `weights` itself, not a copy.
  virtual PayloadBuffer All(const PayloadBuffer& weights) const = 0;

  // What workers that hold everything up to the last call must hear.
  // `changed`: ascending indices of the weights that may have changed since,
  // or null for all. Errors: kDataLoss for weights that are not finite.
  virtual absl::StatusOr<DownlinkPayload> Changes(
      const PayloadBuffer& weights, const std::vector<uint32_t>* changed) = 0;
};

// The way that the config's `downlink` names; of statistics, all of them in
// fp32. `weights`: the first ones. Errors: a compressor that cannot be made.
absl::StatusOr<std::unique_ptr<Downlink>> NewDownlink(
    const SliceOptions& options, const PayloadBuffer& weights);

}  // namespace ps

#endif  // SERVER_SLICES_DOWNLINK_H_
