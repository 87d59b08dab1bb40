// Takes every stride-th pixel of images, and adds channels of zeros on both
// sides, on CUDA.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/cuda/nn/gather.cuh"
#include "tensor/cuda/nn/image_array.cuh"
#include "tensor/tensor.h"

namespace ps {
namespace {

struct Subsample {
  ImageArray in;
  ImageArray out;
  Divisor stride;
  int64_t first_channel;  // First output channel that is not zero.

  template <typename T>
  __device__ float Output(int64_t i, const T* x) const {
    ImagePixel p = out.At(i);
    p.channel -= first_channel;
    if (p.channel < 0 || p.channel >= in.channels.value()) return 0;
    p.row *= stride.value();
    p.column *= stride.value();
    return x[in.Place(p)];
  }

  template <typename T>
  __device__ float InputGradient(int64_t i, const T* dy) const {
    ImagePixel p = in.At(i);
    int64_t row_rest = 0, column_rest = 0;
    p.row = stride.Divide(p.row, &row_rest);
    p.column = stride.Divide(p.column, &column_rest);
    if (row_rest != 0 || column_rest != 0) return 0;
    p.channel += first_channel;
    return dy[out.Place(p)];
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> CudaNnKernels::PlanSubsampling(
    const SubsamplingShape& shape, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("subsampling of ", ShapeString(input.shape), " by ",
                   shape.stride, " to ", shape.out_channels, " channels");
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaImages(what, input));
  const int64_t added = shape.out_channels - input.shape[1];
  if (shape.stride < 1 || added < 0 || added % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": needs a stride of at least 1, and an even number of new channels"));
  }
  const Shape output = {input.shape[0], shape.out_channels,
                        (input.shape[2] - 1) / shape.stride + 1,
                        (input.shape[3] - 1) / shape.stride + 1};
  return NewGatherOp(
      device(), storage, "Subsample", input.shape, output,
      Subsample{ImageArray(storage, input.shape), ImageArray(storage, output),
                Divisor(shape.stride), added / 2});
}

}  // namespace ps
