// The encoding kernels. Their bodies are in the headers that encode_launch.h
// includes.

#include <cuda_runtime.h>

#include "compressors/cuda/encoding/encode_launch.h"
#include "tensor/cuda/sparse/device_block.h"

namespace ps {
namespace {

__global__ void __launch_bounds__(kSparseThreads)
    FindPartsKernel(EncodeBatch batch, uint32_t bucket_size,
                    ElementCount number) {
  PS_SHARED_MEMORY(LengthShared, shared);
  DeviceBlock block;
  FindParts(block, batch, bucket_size, number, shared);
}

__global__ void __launch_bounds__(kSparseThreads)
    MeasureGapsKernel(EncodeBatch batch) {
  PS_SHARED_MEMORY(MeasureShared, shared);
  DeviceBlock block;
  MeasureGaps(block, batch, blockIdx.x, shared);
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
    FitSamplesKernel(EncodeBatch batch, ValuePacking packing) {
  PS_SHARED_MEMORY(FitShared, shared);
  DeviceBlock block;
  FitSamples(block, batch, packing, blockIdx.x, shared);
}

__global__ void __launch_bounds__(kSparseThreads)
    RoundLevelsKernel(EncodeBatch batch, ValuePacking packing) {
  PS_SHARED_MEMORY(RoundShared, shared);
  DeviceBlock block;
  RoundLevels(block, batch, packing, blockIdx.x, shared);
}

__global__ void __launch_bounds__(kSparseThreads)
    MeasureLevelsKernel(EncodeBatch batch, ValuePacking packing) {
  PS_SHARED_MEMORY(LevelShared, shared);
  DeviceBlock block;
  MeasureLevels(block, batch, packing, blockIdx.x, shared);
}

__global__ void __launch_bounds__(kSparseThreads)
    PlanPayloadsKernel(EncodeBatch batch, ValuePacking values,
                       IndexPacking indices, int64_t window_bytes) {
  PS_SHARED_MEMORY(PlanShared, shared);
  DeviceBlock block;
  PlanPayloads(block, batch, values, indices, window_bytes, shared);
}

// Three blocks on a multiprocessor, so that the registers suffice for any code.
__global__ void __launch_bounds__(kSparseThreads, 3)
    PackPayloadsKernel(EncodeBatch batch, ValuePacking packing, int window) {
  PS_SHARED_MEMORY(PackShared, shared);
  DeviceBlock block;
  PackPayloads(block, batch, packing, window, blockIdx.x, shared);
}

__global__ void __launch_bounds__(kSparseThreads)
    CopyPayloadsKernel(EncodeBatch batch, int window, uint8_t* to) {
  DeviceBlock block;
  CopyPayloads(block, batch, window, blockIdx.x, gridDim.x, to);
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

cudaError_t LaunchFindParts(const EncodeBatch& batch, uint32_t bucket_size,
                            const ElementCount& number, cudaStream_t stream) {
  FindPartsKernel<<<1, kSparseThreads, 0, stream>>>(batch, bucket_size, number);
  return cudaGetLastError();
}

cudaError_t LaunchMeasureGaps(const EncodeBatch& batch, int64_t num_blocks,
                              cudaStream_t stream) {
  MeasureGapsKernel<<<static_cast<unsigned>(num_blocks), kSparseThreads, 0,
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

cudaError_t LaunchFitSamples(const EncodeBatch& batch,
                             const ValuePacking& packing, cudaStream_t stream) {
  FitSamplesKernel<<<static_cast<unsigned>(batch.num_parts), kSparseThreads, 0,
                     stream>>>(batch, packing);
  return cudaGetLastError();
}

cudaError_t LaunchRoundLevels(const EncodeBatch& batch,
                              const ValuePacking& packing, int64_t num_blocks,
                              cudaStream_t stream) {
  RoundLevelsKernel<<<static_cast<unsigned>(num_blocks), kSparseThreads, 0,
                      stream>>>(batch, packing);
  return cudaGetLastError();
}

cudaError_t LaunchMeasureLevels(const EncodeBatch& batch,
                                const ValuePacking& packing, int64_t num_blocks,
                                cudaStream_t stream) {
  MeasureLevelsKernel<<<static_cast<unsigned>(num_blocks), kSparseThreads, 0,
                        stream>>>(batch, packing);
  return cudaGetLastError();
}

cudaError_t LaunchPlanPayloads(const EncodeBatch& batch,
                               const ValuePacking& values,
                               const IndexPacking& indices,
                               int64_t window_bytes, cudaStream_t stream) {
  PlanPayloadsKernel<<<1, kSparseThreads, 0, stream>>>(batch, values, indices,
                                                       window_bytes);
  return cudaGetLastError();
}

cudaError_t LaunchPackPayloads(const EncodeBatch& batch,
                               const ValuePacking& packing, int window,
                               int64_t num_chunks, cudaStream_t stream) {
  PackPayloadsKernel<<<static_cast<unsigned>(num_chunks *
                                             BlocksPerChunk(batch)),
                       kSparseThreads, 0, stream>>>(batch, packing, window);
  return cudaGetLastError();
}

cudaError_t LaunchCopyPayloads(const EncodeBatch& batch, int window,
                               uint8_t* to, int64_t num_blocks,
                               cudaStream_t stream) {
  CopyPayloadsKernel<<<static_cast<unsigned>(num_blocks), kSparseThreads, 0,
                       stream>>>(batch, window, to);
  return cudaGetLastError();
}

}  // namespace ps
