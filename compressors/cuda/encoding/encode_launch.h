// Launchers of the encoding kernels. nvcc compiles this header, so it includes
// no Abseil.
//
// All of them queue work on `stream` and return at once, with the error of the
// launch. Pointers refer to device memory, which must stay allocated until the
// work is done. Numbers of blocks are at least 1 unless stated otherwise.
#ifndef COMPRESSORS_CUDA_ENCODING_ENCODE_LAUNCH_H_
#define COMPRESSORS_CUDA_ENCODING_ENCODE_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "compressors/cuda/encoding/index_packing.h"
#include "compressors/cuda/encoding/level_fit.h"
#include "compressors/cuda/encoding/level_packing.h"
#include "compressors/cuda/encoding/level_values.h"
#include "compressors/cuda/encoding/packing_choice.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/cuda/encoding/payload_packing.h"
#include "compressors/cuda/encoding/payload_plans.h"
#include "compressors/cuda/encoding/value_packing.h"

namespace ps {

// One block.
cudaError_t LaunchFindParts(const EncodeBatch& batch, uint32_t bucket_size,
                            const ElementCount& number, cudaStream_t stream);

// One block per chunk; there may be more blocks than chunks.
cudaError_t LaunchMeasureGaps(const EncodeBatch& batch, int64_t num_blocks,
                              cudaStream_t stream);

// The sums that packing.code needs, for "sign", "onebit" and "ternary": one
// block per chunk; there may be more. sums: [chunks].
union ValueSums {
  double alignment;
  unsigned char bytes[sizeof(SidedSums)];
};
static_assert(sizeof(ValueSums) >= sizeof(MagnitudeSum) &&
                  sizeof(ValueSums) >= sizeof(SpreadSums),
              "room for any sums");
cudaError_t LaunchSumValues(const EncodeBatch& batch,
                            const ValuePacking& packing, int64_t num_blocks,
                            ValueSums* sums, cudaStream_t stream);

// One block per part.
cudaError_t LaunchFoldValues(const EncodeBatch& batch,
                             const ValuePacking& packing, const ValueSums* sums,
                             cudaStream_t stream);

// One block per kBucketsPerBlock buckets; there may be more blocks.
cudaError_t LaunchScaleBuckets(const EncodeBatch& batch,
                               const ValuePacking& packing, int64_t num_blocks,
                               cudaStream_t stream);

// One block per part.
cudaError_t LaunchFitSamples(const EncodeBatch& batch,
                             const ValuePacking& packing, cudaStream_t stream);

// One block per chunk; there may be more blocks than chunks.
cudaError_t LaunchRoundLevels(const EncodeBatch& batch,
                              const ValuePacking& packing, int64_t num_blocks,
                              cudaStream_t stream);
cudaError_t LaunchMeasureLevels(const EncodeBatch& batch,
                                const ValuePacking& packing, int64_t num_blocks,
                                cudaStream_t stream);

// One block.
cudaError_t LaunchPlanPayloads(const EncodeBatch& batch,
                               const ValuePacking& values,
                               const IndexPacking& indices,
                               int64_t window_bytes, cudaStream_t stream);

// Two blocks per chunk of a selection, one per chunk of a whole vector.
// num_chunks: may be more than there are.
cudaError_t LaunchPackPayloads(const EncodeBatch& batch,
                               const ValuePacking& packing, int window,
                               int64_t num_chunks, cudaStream_t stream);

// Any number of blocks. `to` may be pinned memory.
cudaError_t LaunchCopyPayloads(const EncodeBatch& batch, int window,
                               uint8_t* to, int64_t num_blocks,
                               cudaStream_t stream);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_ENCODE_LAUNCH_H_
