// SIDCo's passes: bodies from sidco_passes.h, a block for each chunk.

#include <cuda_runtime.h>

#include "compressors/cuda/sidco_launch.h"
#include "tensor/cuda/sparse/device_block.h"

namespace ps {
namespace {

// As in tensor/cuda/sparse/sparse_kernels.cu.
constexpr int kBlocksPerProcessor = 3;

__global__ void __launch_bounds__(kSparseThreads, kBlocksPerProcessor)
    PassKernel(const SidcoPasses* passes, SiftArguments arguments) {
  PS_SHARED_MEMORY(SiftShared, shared);
  DeviceBlock block;
  RunPass(block, *passes, arguments, blockIdx.x, shared);
}

__global__ void __launch_bounds__(kSparseThreads)
    AdvanceKernel(const ChunkStats* stats, int64_t num_chunks,
                  SidcoPasses* passes) {
  PS_SHARED_MEMORY(AdvanceShared, shared);
  DeviceBlock block;
  Advance(block, stats, num_chunks, shared, passes);
}

__global__ void __launch_bounds__(kSparseThreads, kBlocksPerProcessor)
    CountSelectedKernel(const SidcoPasses* passes, SiftArguments arguments) {
  PS_SHARED_MEMORY(SiftShared, shared);
  DeviceBlock block;
  CountSelected(block, *passes, arguments, blockIdx.x, shared);
}

__global__ void __launch_bounds__(kSparseThreads, kBlocksPerProcessor)
    WriteSelectedKernel(const SidcoPasses* passes, SelectArguments arguments) {
  PS_SHARED_MEMORY(TileShared, shared);
  DeviceBlock block;
  WriteSelected(block, *passes, arguments, blockIdx.x, shared);
}

unsigned NumBlocks(const SparseInput& input) {
  return static_cast<unsigned>(NumSparseChunks(input.n));
}

}  // namespace

cudaError_t LaunchPass(const SidcoPasses* passes,
                       const SiftArguments& arguments, cudaStream_t stream) {
  PassKernel<<<NumBlocks(arguments.input), kSparseThreads, 0, stream>>>(
      passes, arguments);
  return cudaGetLastError();
}

cudaError_t LaunchAdvance(const ChunkStats* stats, int64_t num_chunks,
                          SidcoPasses* passes, cudaStream_t stream) {
  AdvanceKernel<<<1, kSparseThreads, 0, stream>>>(stats, num_chunks, passes);
  return cudaGetLastError();
}

cudaError_t LaunchCountSelected(const SidcoPasses* passes,
                                const SiftArguments& arguments,
                                cudaStream_t stream) {
  CountSelectedKernel<<<NumBlocks(arguments.input), kSparseThreads, 0,
                        stream>>>(passes, arguments);
  return cudaGetLastError();
}

cudaError_t LaunchWriteSelected(const SidcoPasses* passes,
                                const SelectArguments& arguments,
                                cudaStream_t stream) {
  WriteSelectedKernel<<<NumBlocks(arguments.input), kSparseThreads, 0,
                        stream>>>(passes, arguments);
  return cudaGetLastError();
}

}  // namespace ps
