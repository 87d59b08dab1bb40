// Layers over sequences that take host memory; see staged_backend.h.
#ifndef TESTS_TENSOR_STAGED_SEQUENCE_KERNELS_H_
#define TESTS_TENSOR_STAGED_SEQUENCE_KERNELS_H_

#include <memory>

#include "tensor/backend.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// `device` outlives the result.
std::unique_ptr<SequenceKernels> NewStagedSequenceKernels(Backend* device);

}  // namespace ps

#endif  // TESTS_TENSOR_STAGED_SEQUENCE_KERNELS_H_
