// Payloads packed where the elements are: of a selection in a device's memory
// only the payload's bytes cross the bus.
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

// What becomes one payload: positions [begin, end) of a vector.
struct PayloadPart {
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t random_key = 0;  // As EncodeElements has it.
};

// Payloads and what coding loses are, byte for byte, those of EncodeElements
// and EncodeDenseAs. Payloads lie in buffers of Backend::HostBuffer, in the
// order of the parts, of which there is at least one, and are complete when a
// call returns.
//
// One thread at a time. Memory of the device is taken when it is first needed,
// and again for more elements than ever before: next to nothing but the
// payloads, of which at most 32 MiB at a time are held, or one part's; a float
// for each scale of a level code; a byte an element for Elias's codes; some 400
// KB a part for "alq". Errors:
// kResourceExhausted, or CUDA's; values may then be lost.
class DeviceEncoder {
 public:
  virtual ~DeviceEncoder() = default;

  // A payload for each part of the selected elements that lie in it. Parts
  // ascend, and every element lies in one. The selection's values become what
  // is lost of them.
  virtual absl::StatusOr<std::vector<PayloadBuffer>> EncodeSelected(
      const DeviceSelection& selection,
      absl::Span<const PayloadPart> parts) = 0;

  // A payload of all positions for each part of the vector u, which becomes
  // what is lost of it. u: the backend's memory.
  virtual absl::StatusOr<std::vector<PayloadBuffer>> EncodeAll(
      float* u, absl::Span<const PayloadPart> parts) = 0;

  // u[indices[i]] = values[i]. Does not wait; later operations of the backend
  // come after it.
  virtual absl::Status Scatter(const DeviceSelection& selection, float* u) = 0;
};

// Null where the memory is the host's. CheckPayloadCodes has accepted the
// codes. `backend` is not owned and outlives the encoder.
std::unique_ptr<DeviceEncoder> NewDeviceEncoder(const PayloadCodes& codes,
                                                Backend* backend);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_DEVICE_ENCODER_H_
