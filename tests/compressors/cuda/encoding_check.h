// Encodes elements on a device and on the host, for comparison.
#ifndef TESTS_COMPRESSORS_CUDA_ENCODING_CHECK_H_
#define TESTS_COMPRESSORS_CUDA_ENCODING_CHECK_H_

#include <cstdint>
#include <vector>

#include "compressors/cuda/encoding/device_encoder.h"
#include "compressors/payload/payload.h"
#include "tensor/backend.h"
#include "tensor/device_selection.h"
#include "tensor/tensor.h"

namespace ps {

struct EncodingCase {
  PayloadCodes codes;
  std::vector<uint32_t> indices;
  std::vector<float> values;
  std::vector<int64_t> part_ends;  // As in CompressorOptions.
  int64_t dense_size = 0;
  uint64_t seed = 0;
};

// A selection in the backend's memory.
class UploadedSelection {
 public:
  UploadedSelection(const std::vector<uint32_t>& indices,
                    const std::vector<float>& values, Backend* backend);

  DeviceSelection get();
  // The same selection as queued work leaves it: the host knows its capacity
  // only, which is this much larger.
  DeviceSelection get_queued();
  std::vector<float> values() const;

 private:
  // More than a chunk of the device.
  static constexpr int64_t kMoreCapacity = 5000;

  Backend* const backend_;  // Not owned.
  const int64_t count_;
  Tensor indices_;  // Viewed as floats.
  Tensor values_;
  Tensor device_count_;  // The same.
};

// Encodes the elements with `encoder`, from get_queued() if `queued`, and with
// EncodeElements, and expects the same payloads and coding errors.
void ExpectSameSelected(const EncodingCase& encoding, bool queued,
                        DeviceEncoder* encoder, Backend* backend);

// The same with a new encoder, `queued` if the number of elements is odd.
void ExpectSameSelected(const EncodingCase& encoding, Backend* backend);

// The same for whole vectors: `values` has dense_size elements, and indices are
// ignored.
void ExpectSameAll(const EncodingCase& encoding, Backend* backend);

// Returns `count` of `dense_size` positions, spread about evenly at random.
std::vector<uint32_t> SomeIndices(int64_t count, int64_t dense_size,
                                  uint64_t seed);

}  // namespace ps

#endif  // TESTS_COMPRESSORS_CUDA_ENCODING_CHECK_H_
