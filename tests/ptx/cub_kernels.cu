// CUB's algorithms for cub_test.cc.

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cub/warp/warp_reduce.cuh>

#include "tests/ptx/kernels.h"

namespace ptx {
namespace {

__global__ void BlockKernel(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, 128>;
  using Scan = cub::BlockScan<int, 128>;
  using WarpSum = cub::WarpReduce<int>;
  __shared__ typename Reduce::TempStorage reduce;
  __shared__ typename Scan::TempStorage scan;
  __shared__ typename WarpSum::TempStorage warps[4];
  const int x = in[threadIdx.x];
  const int sum = Reduce(reduce).Sum(x);
  int before = 0;
  Scan(scan).ExclusiveSum(x, before);
  const int warp = threadIdx.x / 32;
  const int of_warp = WarpSum(warps[warp]).Sum(x);
  if (threadIdx.x == 0) out[0] = sum;
  out[1 + threadIdx.x] = before;
  if (threadIdx.x % 32 == 0) out[129 + warp] = of_warp;
}

}  // namespace

cudaError_t Sum(void* scratch, size_t* bytes, const int* in, int* out, int n,
                cudaStream_t stream) {
  return cub::DeviceReduce::Sum(scratch, *bytes, in, out, n, stream);
}

cudaError_t InclusiveSums(void* scratch, size_t* bytes, const int* in, int* out,
                          int n, cudaStream_t stream) {
  return cub::DeviceScan::InclusiveSum(scratch, *bytes, in, out, n, stream);
}

cudaError_t SelectFlagged(void* scratch, size_t* bytes, const int* in,
                          const char* flags, int* out, int* count, int n,
                          cudaStream_t stream) {
  return cub::DeviceSelect::Flagged(scratch, *bytes, in, flags, out, count, n,
                                    stream);
}

cudaError_t SortKeys(void* scratch, size_t* bytes, const uint64_t* in,
                     uint64_t* out, int n, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortKeys(scratch, *bytes, in, out, n, 0, 64,
                                        stream);
}

cudaError_t SortPairs(void* scratch, size_t* bytes, const uint32_t* in,
                      uint32_t* out, const int* values, int* sorted, int n,
                      cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(scratch, *bytes, in, out, values,
                                         sorted, n, 0, 32, stream);
}

cudaError_t Histogram(void* scratch, size_t* bytes, const float* in, int* bins,
                      int num_bins, int n, cudaStream_t stream) {
  return cub::DeviceHistogram::HistogramEven(
      scratch, *bytes, in, bins, num_bins + 1, 0.0f, 1.0f, n, stream);
}

void BlockAlgorithms(const int* in, int* out, cudaStream_t stream) {
  BlockKernel<<<1, 128, 0, stream>>>(in, out);
}

}  // namespace ptx
