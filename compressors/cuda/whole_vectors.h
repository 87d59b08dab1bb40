// Encodes whole vectors on the device that holds them: fewer bytes go over the
// bus, and the host does nothing (docs/gpu_results.md, Packing).
#ifndef COMPRESSORS_CUDA_WHOLE_VECTORS_H_
#define COMPRESSORS_CUDA_WHOLE_VECTORS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/payload_buffer.h"
#include "tensor/on_device.h"

namespace ps {

// A payload's part of a vector: the elements from the end of the part before it
// (or the beginning) up to `end`.
struct WholePart {
  int64_t end = 0;
  uint64_t random_key = 0;  // As of EncodeDenseAs.
};

// For use by one thread at a time. Made by NewOnDevice.
class WholeVectors {
 public:
  virtual ~WholeVectors() = default;

  // Whether Encode knows the codes: all but those that fit levels, or write
  // them in Elias's codes.
  virtual bool Knows(const PayloadCodes& codes) const = 0;

  // Returns the payloads of EncodeDenseAs for the parts of the vector u, in
  // ascending order. u, in device memory and finite, is replaced with the
  // coding errors. Scales that are sums may differ from the host's in the last
  // bit of a float; all else has the host's bits. Payloads lie in pinned
  // memory; any thread may drop them at any time. Waits once, and once more if
  // it allocates. Errors: kResourceExhausted, or CUDA errors.
  virtual absl::StatusOr<std::vector<PayloadBuffer>> Encode(
      const PayloadCodes& codes, absl::Span<const WholePart> parts,
      float* u) = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_WHOLE_VECTORS_H_
