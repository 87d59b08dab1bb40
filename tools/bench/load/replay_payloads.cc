#include "tools/bench/load/replay_payloads.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

int64_t BytesOf(const std::vector<PayloadBuffer>& parts) {
  int64_t bytes = 0;
  for (const PayloadBuffer& part : parts) {
    bytes += static_cast<int64_t>(part.size_bytes());
  }
  return bytes;
}

// One bucket of one stream: a compressor and its residual, as in a worker.
class BucketStream {
 public:
  static absl::StatusOr<BucketStream> Create(const ReplayOptions& options,
                                             int64_t stream, int bucket,
                                             Backend* backend) {
    BucketStream made;
    made.source_ = options.source;
    made.error_feedback_ = options.config.compressor().error_feedback();
    const std::vector<int64_t>& sizes = options.shard_map->bucket_sizes();
    for (int b = 0; b < bucket; ++b) made.begin_ += sizes[b];
    CompressorOptions compressor;
    compressor.config = options.config.compressor();
    compressor.dense_size = sizes[bucket];
    compressor.part_ends = options.shard_map->SliceEnds(bucket);
    compressor.seed = options.config.seed();
    compressor.worker_rank = static_cast<int>(stream);
    compressor.bucket = bucket;
    compressor.num_workers = options.config.cluster().num_workers();
    compressor.backend = backend;
    PS_ASSIGN_OR_RETURN(made.compressor_, NewCompressor(compressor));
    PS_ASSIGN_OR_RETURN(made.gradient_, backend->Allocate({sizes[bucket]}));
    PS_ASSIGN_OR_RETURN(made.residual_, backend->Allocate({sizes[bucket]}));
    std::fill_n(made.residual_.data(), made.residual_.size(), 0.0f);
    return made;
  }

  absl::StatusOr<std::vector<PayloadBuffer>> Next(int64_t gradient_number) {
    PS_RETURN_IF_ERROR(
        source_->Read(gradient_number, begin_,
                      absl::MakeSpan(gradient_.data(), gradient_.size())));
    PS_ASSIGN_OR_RETURN(EncodedGradient encoded,
                        compressor_->Compress(gradient_, &residual_));
    if (encoded.stats.non_finite) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradient ", gradient_number,
                       " with its residual is not finite; compressors take "
                       "finite numbers only"));
    }
    if (!error_feedback_) {
      std::fill_n(residual_.data(), residual_.size(), 0.0f);
    }
    return std::move(encoded.parts);
  }

 private:
  const GradientSource* source_ = nullptr;
  bool error_feedback_ = true;
  int64_t begin_ = 0;  // Offset of the bucket in the model.
  std::unique_ptr<Compressor> compressor_;
  Tensor gradient_;  // [bucket size]
  Tensor residual_;  // [bucket size]
};

// Bytes of one worker's iteration, estimated from the larger of the first two
// payloads of the first bucket: estimated thresholds need a first iteration to
// settle.
absl::StatusOr<int64_t> EstimateIterationBytes(const ReplayOptions& options,
                                               int64_t elements,
                                               Backend* backend) {
  PS_ASSIGN_OR_RETURN(
      BucketStream stream,
      BucketStream::Create(options, /*stream=*/0, /*bucket=*/0, backend));
  int64_t bytes = 0;
  for (const int64_t number : {0, 1}) {
    PS_ASSIGN_OR_RETURN(const std::vector<PayloadBuffer> parts,
                        stream.Next(number));
    bytes = std::max(bytes, BytesOf(parts));
  }
  const double share =
      static_cast<double>(elements) /
      static_cast<double>(options.shard_map->bucket_sizes().front());
  return static_cast<int64_t>(share * static_cast<double>(bytes));
}

}  // namespace

ReplayPlan PlanReplay(const ReplayLimits& limits, int64_t iteration_bytes) {
  const int64_t iterations =
      std::min(limits.bytes / std::max<int64_t>(1, iteration_bytes),
               kMaxPreparedElements / std::max<int64_t>(1, limits.elements));
  ReplayPlan plan;
  plan.ring = std::clamp<int64_t>(iterations, 1, limits.ring);
  plan.streams = std::clamp<int64_t>(iterations / plan.ring, 1, limits.workers);
  return plan;
}

absl::StatusOr<ReplayPayloads> ReplayPayloads::Make(
    const ReplayOptions& options) {
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend,
                      NewCpuCompressorBackend(CpuBackendOptions()));
  ReplayLimits limits;
  limits.workers = options.config.cluster().num_workers();
  for (const int64_t size : options.shard_map->bucket_sizes()) {
    limits.elements += size;
  }
  limits.ring = options.ring;
  limits.bytes = options.bytes;
  PS_ASSIGN_OR_RETURN(
      const int64_t iteration_bytes,
      EstimateIterationBytes(options, limits.elements, backend.get()));

  ReplayPayloads made;
  made.plan_ = PlanReplay(limits, iteration_bytes);
  made.payloads_.resize(made.plan_.streams * made.plan_.ring);
  for (int64_t stream = 0; stream < made.plan_.streams; ++stream) {
    const int64_t first = stream * made.plan_.ring;
    // Bucket by bucket, so that one bucket's memory is enough.
    for (int b = 0; b < options.shard_map->num_buckets(); ++b) {
      PS_ASSIGN_OR_RETURN(
          BucketStream bucket,
          BucketStream::Create(options, stream, b, backend.get()));
      for (int64_t i = first; i < first + made.plan_.ring; ++i) {
        PS_ASSIGN_OR_RETURN(std::vector<PayloadBuffer> parts, bucket.Next(i));
        made.total_bytes_ += BytesOf(parts);
        made.payloads_[i].push_back(std::move(parts));
      }
    }
  }
  return made;
}

int64_t ReplayPayloads::IterationBytes(int64_t rank, int64_t iteration) const {
  int64_t bytes = 0;
  for (const auto& parts : At(rank, iteration)) bytes += BytesOf(parts);
  return bytes;
}

}  // namespace ps
