// Queues the work on level codes that precedes writing them, and owns its
// memory.
//
// Includes CUDA's headers: only for libraries that are built with the CUDA
// toolkit.
#ifndef COMPRESSORS_CUDA_ENCODING_LEVEL_WORK_H_
#define COMPRESSORS_CUDA_ENCODING_LEVEL_WORK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "compressors/cuda/encoding/level_scratch.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/cuda/encoding/reserve.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {

// For use by one thread at a time.
class LevelWork {
 public:
  // If `packing` is not for a level code, nothing is done. `work` is not owned
  // and must outlive this object.
  LevelWork(const ValuePacking& packing, SparseWork* work)
      : packing_(packing), work_(work) {}

  // Queues the computation of scales and fitted levels and, for Elias's codes,
  // of all codes and their lengths; values are then replaced with their errors.
  // Sets in *batch where the results are. The batch's parts have at most
  // `count` elements, at least 1; only the device knows how many, and which
  // part each belongs to.
  absl::Status Queue(int64_t count, EncodeBatch* batch);

 private:
  absl::Status QueueFits(int64_t count, EncodeBatch* batch);
  absl::Status QueueCodes(int64_t count, EncodeBatch* batch);

  const ValuePacking packing_;
  SparseWork* const work_;  // Not owned.
  Reserve<float> scales_;
  Reserve<float> levels_;
  Reserve<uint64_t> samples_;
  Reserve<SampleSums> sums_;
  Reserve<uint8_t> codes_;
  Reserve<uint32_t> bucket_levels_;
  Reserve<LevelLengths> lengths_;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_LEVEL_WORK_H_
