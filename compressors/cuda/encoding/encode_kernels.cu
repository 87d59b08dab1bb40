// The encoding kernels: bodies from index_packing.h and value_packing.h.

#include <cuda_runtime.h>

#include "compressors/cuda/encoding/encode_launch.h"
#include "tensor/cuda/sparse/device_block.h"

namespace ps {
namespace {

__global__ void __launch_bounds__(kSparseThreads)
    FindPartsKernel(EncodeBatch batch, int64_t count) {
  DeviceBlock block;
  FindParts(block, batch, count);
}

__global__ void __launch_bounds__(kSparseThreads)
    MeasureGapsKernel(EncodeBatch batch) {
  PS_SHARED_MEMORY(MeasureShared, shared);
  DeviceBlock block;
  MeasureGaps(block, batch, blockIdx.x, shared);
}

__global__ void __launch_bounds__(kSparseThreads)
    ScanGapsKernel(EncodeBatch batch) {
  PS_SHARED_MEMORY(MeasureShared, shared);
  DeviceBlock block;
  ScanGaps(block, batch, blockIdx.x, shared);
}

template <class Sums>
__global__ void __launch_bounds__(kSparseThreads)
    SumValuesKernel(EncodeBatch batch, Sums* sums) {
  PS_SHARED_MEMORY(SumShared<Sums>, shared);
  DeviceBlock block;
  SumValues(block, batch, blockIdx.x, shared, sums);
}

template <class Sums>
__global__ void __launch_bounds__(kSparseThreads)
    FoldValuesKernel(EncodeBatch batch, ValuePacking packing,
                     const Sums* sums) {
  PS_SHARED_MEMORY(FoldValuesShared<Sums>, shared);
  DeviceBlock block;
  FoldValues(block, batch, packing, blockIdx.x, sums, shared);
}

__global__ void __launch_bounds__(kSparseThreads)
    ScaleBucketsKernel(EncodeBatch batch, ValuePacking packing) {
  PS_SHARED_MEMORY(ScaleShared, shared);
  DeviceBlock block;
  ScaleBuckets(block, batch, packing, blockIdx.x, shared);
}

__global__ void __launch_bounds__(kSparseThreads)
    PackValuesKernel(EncodeBatch batch, ValuePacking packing) {
  DeviceBlock block;
  PackValues(block, batch, packing, blockIdx.x);
}

__global__ void __launch_bounds__(kSparseThreads)
    WriteIndicesKernel(EncodeBatch batch) {
  PS_SHARED_MEMORY(IndexShared, shared);
  DeviceBlock block;
  WriteIndices(block, batch, blockIdx.x, shared);
}

template <class Sums>
cudaError_t LaunchSum(const EncodeBatch& batch, int64_t num_blocks,
                      ValueSums* sums, cudaStream_t stream) {
  SumValuesKernel<<<static_cast<unsigned>(num_blocks), kSparseThreads, 0,
                    stream>>>(batch, reinterpret_cast<Sums*>(sums));
  return cudaGetLastError();
}

template <class Sums>
cudaError_t LaunchFold(const EncodeBatch& batch, const ValuePacking& packing,
                       const ValueSums* sums, cudaStream_t stream) {
  FoldValuesKernel<<<static_cast<unsigned>(batch.num_parts), kSparseThreads, 0,
                     stream>>>(batch, packing,
                               reinterpret_cast<const Sums*>(sums));
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchFindParts(const EncodeBatch& batch, int64_t count,
                            cudaStream_t stream) {
  FindPartsKernel<<<1, kSparseThreads, 0, stream>>>(batch, count);
  return cudaGetLastError();
}

cudaError_t LaunchMeasureGaps(const EncodeBatch& batch, int64_t num_blocks,
                              cudaStream_t stream) {
  MeasureGapsKernel<<<static_cast<unsigned>(num_blocks), kSparseThreads, 0,
                      stream>>>(batch);
  return cudaGetLastError();
}

cudaError_t LaunchScanGaps(const EncodeBatch& batch, cudaStream_t stream) {
  ScanGapsKernel<<<static_cast<unsigned>(batch.num_parts), kSparseThreads, 0,
                   stream>>>(batch);
  return cudaGetLastError();
}

cudaError_t LaunchSumValues(const EncodeBatch& batch,
                            const ValuePacking& packing, int64_t num_blocks,
                            ValueSums* sums, cudaStream_t stream) {
  if (packing.code == ValueCode::kSign) {
    return LaunchSum<MagnitudeSum>(batch, num_blocks, sums, stream);
  }
  if (packing.code == ValueCode::kOneBit) {
    return LaunchSum<SidedSums>(batch, num_blocks, sums, stream);
  }
  return LaunchSum<SpreadSums>(batch, num_blocks, sums, stream);
}

cudaError_t LaunchFoldValues(const EncodeBatch& batch,
                             const ValuePacking& packing, const ValueSums* sums,
                             cudaStream_t stream) {
  if (packing.code == ValueCode::kSign) {
    return LaunchFold<MagnitudeSum>(batch, packing, sums, stream);
  }
  if (packing.code == ValueCode::kOneBit) {
    return LaunchFold<SidedSums>(batch, packing, sums, stream);
  }
  return LaunchFold<SpreadSums>(batch, packing, sums, stream);
}

cudaError_t LaunchScaleBuckets(const EncodeBatch& batch,
                               const ValuePacking& packing, int64_t num_blocks,
                               cudaStream_t stream) {
  ScaleBucketsKernel<<<static_cast<unsigned>(num_blocks), kSparseThreads, 0,
                       stream>>>(batch, packing);
  return cudaGetLastError();
}

cudaError_t LaunchPackValues(const EncodeBatch& batch,
                             const ValuePacking& packing, int64_t num_blocks,
                             cudaStream_t stream) {
  PackValuesKernel<<<static_cast<unsigned>(num_blocks), kSparseThreads, 0,
                     stream>>>(batch, packing);
  return cudaGetLastError();
}

cudaError_t LaunchWriteIndices(const EncodeBatch& batch, int64_t num_blocks,
                               cudaStream_t stream) {
  WriteIndicesKernel<<<static_cast<unsigned>(num_blocks), kSparseThreads, 0,
                       stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace ps
