#include "compressors/cuda/encoding/level_work.h"

#include "common/status_macros.h"
#include "compressors/cuda/encoding/encode_launch.h"
#include "tensor/cuda/cuda_status.h"

namespace ps {

absl::Status LevelWork::Queue(int64_t count, EncodeBatch* batch) {
  if (!packing_.has_levels()) return absl::OkStatus();
  // An upper bound, however the elements are distributed: the last bucket of
  // each part may be shorter.
  const int64_t num_buckets = count / packing_.bucket_size + batch->num_parts;
  PS_RETURN_IF_ERROR(scales_.AtLeast(num_buckets, work_));
  batch->levels.scales = scales_.get();
  if (packing_.elias) {
    PS_RETURN_IF_ERROR(bucket_levels_.AtLeast(num_buckets, work_));
    batch->levels.bucket_levels = bucket_levels_.get();
  }
  PS_RETURN_IF_CUDA_ERROR(LaunchScaleBuckets(
      *batch, packing_, (num_buckets + kBucketsPerBlock - 1) / kBucketsPerBlock,
      work_->stream()));
  if (packing_.spacing == LevelSpacing::kFitted) {
    PS_RETURN_IF_ERROR(QueueFits(count, batch));
  }
  return packing_.elias ? QueueCodes(count, batch) : absl::OkStatus();
}

absl::Status LevelWork::QueueFits(int64_t count, EncodeBatch* batch) {
  const int64_t parts = batch->num_parts;
  const int64_t room = SampleRoom(count);  // No part has more elements.
  PS_RETURN_IF_ERROR(levels_.AtLeast(parts * kLevelTable, work_));
  PS_RETURN_IF_ERROR(samples_.AtLeast(parts * room, work_));
  PS_RETURN_IF_ERROR(sums_.AtLeast(parts * (room + 1), work_));
  batch->levels.levels = levels_.get();
  batch->levels.samples = samples_.get();
  batch->levels.sums = sums_.get();
  batch->levels.max_sample = room;
  PS_RETURN_IF_CUDA_ERROR(LaunchFitSamples(*batch, packing_, work_->stream()));
  return absl::OkStatus();
}

absl::Status LevelWork::QueueCodes(int64_t count, EncodeBatch* batch) {
  const cudaStream_t stream = work_->stream();
  const int64_t num_chunks = count / kEncodeChunk + batch->num_parts;
  PS_RETURN_IF_ERROR(codes_.AtLeast(num_chunks * kEncodeChunk, work_));
  PS_RETURN_IF_ERROR(lengths_.AtLeast(num_chunks + 1, work_));
  batch->levels.codes = codes_.get();
  batch->levels.lengths = lengths_.get();
  PS_RETURN_IF_CUDA_ERROR(
      LaunchRoundLevels(*batch, packing_, num_chunks, stream));
  PS_RETURN_IF_CUDA_ERROR(
      LaunchMeasureLevels(*batch, packing_, num_chunks, stream));
  return absl::OkStatus();
}

}  // namespace ps
