// Encodes whole vectors on the device that holds them, in codes that take half
// of the bytes over the bus and a minute fraction of the host's time
// (docs/gpu_results.md, Packing).
#ifndef COMPRESSORS_CUDA_WHOLE_VECTORS_H_
#define COMPRESSORS_CUDA_WHOLE_VECTORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/payload_buffer.h"
#include "tensor/on_device.h"

namespace ps {

// For use by one thread at a time. Made by NewOnDevice.
class WholeVectors {
 public:
  virtual ~WholeVectors() = default;

  // Whether Encode knows the code.
  static bool Know(const std::string& value_code) {
    return value_code == "fp32" || value_code == "fp16" || value_code == "bf16";
  }

  // Returns the payloads of EncodeDenseAs for the parts of the vector u that
  // end at `ends`, ascending, the first of which begins at 0. u, in device
  // memory, is replaced with the coding errors. Payloads lie in pinned memory;
  // any thread may drop them at any time. Waits once, and once more if it
  // allocates. Errors: kResourceExhausted, or CUDA errors.
  virtual absl::StatusOr<std::vector<PayloadBuffer>> Encode(
      const std::string& value_code, absl::Span<const int64_t> ends,
      float* u) = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_WHOLE_VECTORS_H_
