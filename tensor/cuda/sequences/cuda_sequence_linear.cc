// Linear layers over the steps of sequences, on CUDA.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_linear.h"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"
#include "tensor/tensor.h"

namespace ps {

absl::StatusOr<std::unique_ptr<AffineOp>>
CudaSequenceKernels::PlanSequenceLinear(int64_t out_features,
                                        const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("linear layer from ", ShapeString(input.shape), " to ",
                   out_features, " features");
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaSequence(what, input));
  if (out_features < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": needs at least one feature"));
  }
  const int64_t steps = input.shape[0], batch = input.shape[1];
  LinearRows rows;
  rows.rows = steps * batch;
  rows.in = input.shape[2];
  rows.input = storage;
  rows.output = {steps, batch, out_features};
  return PlanCudaLinearRows(device(), rows);
}

}  // namespace ps
