// Adds activations on the CPU.
#ifndef TENSOR_CPU_CPU_SUM_H_
#define TENSOR_CPU_CPU_SUM_H_

#include <memory>

#include "common/thread_pool.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Creates the operation of NnKernels. `pool` outlives the operation.
std::unique_ptr<SumOp> NewCpuSum(ThreadPool* pool, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_SUM_H_
