// Packs payloads on the device that holds the elements, so that of a selection
// only the payload's bytes come to the host.
#ifndef COMPRESSORS_CUDA_ENCODING_DEVICE_ENCODER_H_
#define COMPRESSORS_CUDA_ENCODING_DEVICE_ENCODER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/payload_buffer.h"
#include "tensor/backend.h"
#include "tensor/device_selection.h"

namespace ps {

// The part of a vector that becomes one payload: positions [begin, end).
struct PayloadPart {
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t random_key = 0;  // As for EncodeElements.
};

// Payloads and coding errors are, byte for byte, those of EncodeElements and
// EncodeDenseAs. Payloads lie in pinned memory, in the order of the parts, and
// are complete when a call returns; any thread may drop them at any time. There
// must be at least one part.
//
// A call waits once, at its end. It waits once more if it allocates memory, and
// if the payloads take more windows of 32 MiB than those of the call before.
//
// For use by one thread at a time. Memory is allocated when it is first needed,
// and again for more elements than ever before: on the device for one window,
// which is longer than 32 MiB only if a single payload may be, and shorter if
// all are; and as much pinned memory for each window of payloads that have not
// been dropped. Level codes also need a float per scale on the device, Elias's
// codes a byte per element, and "alq" about 400 KB per part. Whole vectors in
// "fp32" need pinned memory only. A selection whose count the host does not
// know needs space for its capacity. Errors: kResourceExhausted, or CUDA
// errors; values may then be lost.
class DeviceEncoder {
 public:
  virtual ~DeviceEncoder() = default;

  // Returns a payload for each part, of the selected elements that lie in it.
  // Parts are in ascending order, and every element lies in one of them. The
  // selection's values are replaced with their coding errors. The selection may
  // still be in the making (device_count).
  virtual absl::StatusOr<std::vector<PayloadBuffer>> EncodeSelected(
      const DeviceSelection& selection,
      absl::Span<const PayloadPart> parts) = 0;

  // Returns a payload of all positions for each part of the vector u, and
  // replaces u with the coding errors. u: in the backend's memory.
  virtual absl::StatusOr<std::vector<PayloadBuffer>> EncodeAll(
      float* u, absl::Span<const PayloadPart> parts) = 0;

  // Sets u[indices[i]] = values[i]. Does not wait; later operations of the
  // backend run after it.
  virtual absl::Status Scatter(const DeviceSelection& selection, float* u) = 0;
};

// Returns null if the backend's memory is the host's. CheckPayloadCodes must
// have accepted the codes. `backend` is not owned and must outlive the encoder.
std::unique_ptr<DeviceEncoder> NewDeviceEncoder(const PayloadCodes& codes,
                                                Backend* backend);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_DEVICE_ENCODER_H_
