#include "tools/bench/compressors/device_copy.h"

#include <cuda_runtime_api.h>

#include "common/status_macros.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

class StreamCopier final : public DeviceCopier {
 public:
  explicit StreamCopier(SparseWork* work) : work_(work) {}

  absl::Status Copy(const Tensor& from, int times, Tensor* to) override {
    PS_RETURN_IF_ERROR(work_->Begin());
    for (int i = 0; i < times; ++i) {
      PS_RETURN_IF_CUDA_ERROR(
          cudaMemcpyAsync(to->data(), from.data(), from.size() * sizeof(float),
                          cudaMemcpyDeviceToDevice, work_->stream()));
    }
    return work_->Await();
  }

 private:
  SparseWork* const work_;  // Not owned.
};

}  // namespace

PS_REGISTER_ON_DEVICE(DeviceCopier, StreamCopier);

}  // namespace ps
