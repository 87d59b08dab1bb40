// Launchers of the sparse kernels. This header must not use Abseil, since nvcc
// compiles it.
//
// All launchers queue work on `stream` and return at once, with any error of
// the launch. Pointers are to device memory, which must stay valid until the
// work is done.
#ifndef TENSOR_CUDA_SPARSE_SPARSE_LAUNCH_H_
#define TENSOR_CUDA_SPARSE_SPARSE_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tensor/cuda/sparse/cores/elementwise.h"
#include "tensor/cuda/sparse/cores/fold.h"
#include "tensor/cuda/sparse/cores/histogram.h"
#include "tensor/cuda/sparse/cores/logs.h"
#include "tensor/cuda/sparse/cores/select.h"
#include "tensor/cuda/sparse/cores/sift.h"

namespace ps {

// Runs a block for each chunk of the arguments.input.n elements; n is at least
// 1.
cudaError_t LaunchSift(const SiftArguments& arguments, cudaStream_t stream);

// *total of stats: [num_chunks], which may be empty.
cudaError_t LaunchFold(const ChunkStats* stats, int64_t num_chunks,
                       ChunkStats* total, cudaStream_t stream);

// bases: [num_chunks + 1].
cudaError_t LaunchScan(const ChunkStats* stats, int64_t num_chunks,
                       int64_t* bases, cudaStream_t stream);

// n is at least 1.
cudaError_t LaunchSelect(const SelectArguments& arguments, cudaStream_t stream);

// products: [chunks of n]. n is at least 1.
cudaError_t LaunchMultiply(const float* u, int64_t n, ChunkProducts* products,
                           cudaStream_t stream);

// num_samples is at least 1.
cudaError_t LaunchHistogram(const HistogramArguments& arguments,
                            cudaStream_t stream);

// n is at least 1.
cudaError_t LaunchScaledSum(const ScaledSum& sum, int64_t n,
                            cudaStream_t stream);
cudaError_t LaunchGather(const GatherValues& gather, int64_t n,
                         cudaStream_t stream);
cudaError_t LaunchScatter(const ScatterValues& scatter, int64_t n,
                          cudaStream_t stream);
cudaError_t LaunchAddAt(const AddValues& add, int64_t n, cudaStream_t stream);

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_SPARSE_LAUNCH_H_
