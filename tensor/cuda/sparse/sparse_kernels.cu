// The sparse kernels: the bodies in cores/, with one block for each chunk.

#include <cuda_runtime.h>

#include "tensor/cuda/sparse/device_block.h"
#include "tensor/cuda/sparse/sparse_launch.h"

namespace ps {
namespace {

// While one block adds up a tile, which uses few of its threads, others load.
constexpr int kBlocksPerProcessor = 3;

__global__ void __launch_bounds__(kSparseThreads, kBlocksPerProcessor)
    SiftKernel(SiftArguments arguments) {
  PS_SHARED_MEMORY(SiftShared, shared);
  DeviceBlock block;
  SiftChunk(block, arguments, blockIdx.x, shared);
}

__global__ void __launch_bounds__(kSparseThreads)
    FoldKernel(const ChunkStats* stats, int64_t num_chunks, ChunkStats* total) {
  PS_SHARED_MEMORY(FoldShared, shared);
  DeviceBlock block;
  FoldChunks(block, stats, num_chunks, /*sums=*/true, shared, total);
}

__global__ void __launch_bounds__(kSparseThreads)
    ScanKernel(const ChunkStats* stats, int64_t num_chunks, int64_t* bases) {
  PS_SHARED_MEMORY(ScanShared, shared);
  DeviceBlock block;
  ScanCounts(block, stats, num_chunks, shared, bases);
}

__global__ void __launch_bounds__(kSparseThreads, kBlocksPerProcessor)
    SelectKernel(SelectArguments arguments) {
  PS_SHARED_MEMORY(PackTileShared, shared);
  DeviceBlock block;
  SelectChunk(block, arguments, blockIdx.x, shared);
}

__global__ void __launch_bounds__(kSparseThreads, kBlocksPerProcessor)
    MultiplyKernel(SparseInput input, ChunkProducts* products) {
  PS_SHARED_MEMORY(MultiplyShared, shared);
  DeviceBlock block;
  MultiplyChunk(block, input, blockIdx.x, shared, products);
}

__global__ void __launch_bounds__(kSparseThreads)
    HistogramKernel(HistogramArguments arguments) {
  PS_SHARED_MEMORY(HistogramShared, shared);
  DeviceBlock block;
  CountBlock(block, arguments, blockIdx.x, shared);
}

template <class ForElement>
__global__ void __launch_bounds__(kSparseThreads)
    ElementwiseKernel(ForElement for_element, int64_t n) {
  DeviceBlock block;
  ForEachElement(block, blockIdx.x, gridDim.x, kSparseThreads, n, for_element);
}

// Enough blocks to fill any device several times.
constexpr int64_t kMaxElementwiseBlocks = 4096;

template <class ForElement>
cudaError_t LaunchElementwise(const ForElement& for_element, int64_t n,
                              cudaStream_t stream) {
  const int64_t blocks = (n + kSparseThreads - 1) / kSparseThreads;
  ElementwiseKernel<<<static_cast<unsigned>(blocks < kMaxElementwiseBlocks
                                                ? blocks
                                                : kMaxElementwiseBlocks),
                      kSparseThreads, 0, stream>>>(for_element, n);
  return cudaGetLastError();
}

unsigned NumBlocks(int64_t n) {
  return static_cast<unsigned>(NumSparseChunks(n));
}

}  // namespace

cudaError_t LaunchSift(const SiftArguments& arguments, cudaStream_t stream) {
  SiftKernel<<<NumBlocks(arguments.input.n), kSparseThreads, 0, stream>>>(
      arguments);
  return cudaGetLastError();
}

cudaError_t LaunchFold(const ChunkStats* stats, int64_t num_chunks,
                       ChunkStats* total, cudaStream_t stream) {
  FoldKernel<<<1, kSparseThreads, 0, stream>>>(stats, num_chunks, total);
  return cudaGetLastError();
}

cudaError_t LaunchScan(const ChunkStats* stats, int64_t num_chunks,
                       int64_t* bases, cudaStream_t stream) {
  ScanKernel<<<1, kSparseThreads, 0, stream>>>(stats, num_chunks, bases);
  return cudaGetLastError();
}

cudaError_t LaunchSelect(const SelectArguments& arguments,
                         cudaStream_t stream) {
  SelectKernel<<<NumBlocks(arguments.input.n), kSparseThreads, 0, stream>>>(
      arguments);
  return cudaGetLastError();
}

cudaError_t LaunchMultiply(const float* u, int64_t n, ChunkProducts* products,
                           cudaStream_t stream) {
  SparseInput input;
  input.u = const_cast<float*>(u);  // Not written: no sum is formed.
  input.n = n;
  MultiplyKernel<<<NumBlocks(n), kSparseThreads, 0, stream>>>(input, products);
  return cudaGetLastError();
}

cudaError_t LaunchHistogram(const HistogramArguments& arguments,
                            cudaStream_t stream) {
  const int64_t blocks =
      (arguments.num_samples + kSamplesPerBlock - 1) / kSamplesPerBlock;
  HistogramKernel<<<static_cast<unsigned>(blocks), kSparseThreads, 0, stream>>>(
      arguments);
  return cudaGetLastError();
}

cudaError_t LaunchScaledSum(const ScaledSum& sum, int64_t n,
                            cudaStream_t stream) {
  return LaunchElementwise(sum, n, stream);
}

cudaError_t LaunchGather(const GatherValues& gather, int64_t n,
                         cudaStream_t stream) {
  return LaunchElementwise(gather, n, stream);
}

cudaError_t LaunchScatter(const ScatterValues& scatter, int64_t n,
                          cudaStream_t stream) {
  return LaunchElementwise(scatter, n, stream);
}

cudaError_t LaunchAddAt(const AddValues& add, int64_t n, cudaStream_t stream) {
  return LaunchElementwise(add, n, stream);
}

}  // namespace ps
