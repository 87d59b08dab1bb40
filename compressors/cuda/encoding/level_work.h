// What a device does for level codes before it writes them, and its memory.
//
// Includes CUDA's headers: only for libraries that exist where there is a
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

// One thread at a time.
class LevelWork {
 public:
  // packing: of a level code, or nothing is done. `work` is not owned and
  // outlives this.
  LevelWork(const ValuePacking& packing, SparseWork* work)
      : packing_(packing), work_(work) {}

  // Queues scales, fitted levels, and for Elias's codes all codes (the values
  // become what is lost of them) and what they take, which the plans learn.
  // Says in *batch where all that is. `count`, at least 1, is how many elements
  // the batch's parts have; the device knows whose they are.
  absl::Status Queue(int64_t count, EncodeBatch* batch);

 private:
  absl::Status QueueFits(int64_t count, EncodeBatch* batch);
  absl::Status QueueCodes(int64_t count, int64_t num_buckets,
                          EncodeBatch* batch);

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
