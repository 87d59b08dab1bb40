// The last step of a sequence, or the mean over its steps, on CUDA.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/gather.cuh"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The input is [steps, size], the output [size].
struct StepMean {
  int64_t steps;
  int64_t first;  // Of the steps that count: 0, or the last one.
  Divisor size;

  template <typename T>
  __device__ float Output(int64_t i, const T* x) const {
    float sum = x[first * size.value() + i];
    for (int64_t t = first + 1; t < steps; ++t) sum += x[t * size.value() + i];
    return sum * Share();
  }

  template <typename T>
  __device__ float InputGradient(int64_t i, const T* dy) const {
    int64_t place = 0;
    const int64_t step = size.Divide(i, &place);
    return step < first ? 0 : dy[place] * Share();
  }

  // Of each step that counts.
  __device__ float Share() const {
    return 1.0f / static_cast<float>(steps - first);
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> CudaSequenceKernels::PlanStepReduction(
    StepReduction reduction, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("one vector for the steps of ", ShapeString(input.shape));
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaSequence(what, input));
  const Shape& in = input.shape;
  const int64_t first = reduction == StepReduction::kMean ? 0 : in[0] - 1;
  return NewGatherOp(device(), storage, "StepReduction", in, {in[1], in[2]},
                     StepMean{in[0], first, Divisor(in[1] * in[2])});
}

}  // namespace ps
