// Layers that take host memory; see staged_backend.h.
#ifndef TESTS_TENSOR_STAGED_NN_KERNELS_H_
#define TESTS_TENSOR_STAGED_NN_KERNELS_H_

#include <cstdint>
#include <memory>

#include "tensor/backend.h"
#include "tensor/nn_kernels.h"

namespace ps {

// `device` outlives the result.
std::unique_ptr<NnKernels> NewStagedNnKernels(Backend* device);

// Sizes of a wrapped affine operation's arguments, in floats.
struct StagedAffineSizes {
  int64_t x = 0;
  int64_t weight = 0;
  int64_t bias = 0;
};
std::unique_ptr<AffineOp> StageAffine(Backend* device,
                                      const StagedAffineSizes& sizes,
                                      std::unique_ptr<AffineOp> op);
std::unique_ptr<UnaryOp> StageUnary(Backend* device, int64_t num_inputs,
                                    std::unique_ptr<UnaryOp> op);

}  // namespace ps

#endif  // TESTS_TENSOR_STAGED_NN_KERNELS_H_
