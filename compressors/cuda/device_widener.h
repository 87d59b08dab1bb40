// Dense payloads of 16-bit floats, written into a vector of a device as they
// are: half the bytes go up, and a kernel widens them.
#ifndef COMPRESSORS_CUDA_DEVICE_WIDENER_H_
#define COMPRESSORS_CUDA_DEVICE_WIDENER_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/payload/payload_format.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Whether a DeviceWidener writes such a payload: dense, in fp16 or bf16.
bool CanWiden(const PayloadInfo& info);

// One thread at a time.
class DeviceWidener {
 public:
  virtual ~DeviceWidener() = default;

  // u[i] = what the payload says of element i, or u[i] += that where `adds`: as
  // DecodeDensePayload and AddPayload. u: [info.dense_size] of the device's
  // memory. The payload is one that ValidatePayload accepted, `info` what it
  // said, and CanWiden(info). Errors: kResourceExhausted, or CUDA's.
  virtual absl::Status Write(const PayloadPieces& pieces,
                             const PayloadInfo& info, bool adds, float* u) = 0;
};

// `work` is not owned and outlives this. kUnimplemented without the toolkit,
// where no kernels have a SparseWork.
absl::StatusOr<std::unique_ptr<DeviceWidener>> NewDeviceWidener(
    SparseWork* work);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_WIDENER_H_
