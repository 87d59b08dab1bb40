// Writes dense payloads of 16-bit floats or of blocks of 8 bits into a vector
// on a device: their bytes are copied to the device, and a kernel widens them.
#ifndef COMPRESSORS_CUDA_DEVICE_WIDENER_H_
#define COMPRESSORS_CUDA_DEVICE_WIDENER_H_

#include "absl/status/status.h"
#include "compressors/payload/payload_format.h"
#include "tensor/on_device.h"

namespace ps {

// Whether a DeviceWidener can write this payload.
inline bool CanWiden(const PayloadInfo& info) {
  return info.index_code == IndexCode::kDense &&
         (info.value_code == ValueCode::kBf16 ||
          info.value_code == ValueCode::kFp16 ||
          info.value_code == ValueCode::kInt8Block);
}

// For use by one thread at a time. Made by NewOnDevice.
class DeviceWidener {
 public:
  virtual ~DeviceWidener() = default;

  // Sets u[i] to element i of the payload, or adds the element to u[i] if
  // `adds`, as DecodeDensePayload and AddPayload do. u: [info.dense_size], in
  // device memory. ValidatePayload must have accepted the payload and returned
  // `info`, and CanWiden(info) must hold. Errors: kResourceExhausted, or CUDA
  // errors.
  virtual absl::Status Write(const PayloadPieces& pieces,
                             const PayloadInfo& info, bool adds, float* u) = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_WIDENER_H_
