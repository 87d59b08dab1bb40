// Writes dense payloads of 16-bit floats into a vector on a device: half the
// bytes are copied to the device, and a kernel widens them.
#ifndef COMPRESSORS_CUDA_DEVICE_WIDENER_H_
#define COMPRESSORS_CUDA_DEVICE_WIDENER_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/payload/payload_format.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Whether a DeviceWidener can write this payload: it must be dense, in fp16 or
// bf16.
bool CanWiden(const PayloadInfo& info);

// For use by one thread at a time.
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

// `work` is not owned and must outlive the result. Errors: kUnimplemented in a
// build without the CUDA toolkit, where no kernels have a SparseWork.
absl::StatusOr<std::unique_ptr<DeviceWidener>> NewDeviceWidener(
    SparseWork* work);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_WIDENER_H_
