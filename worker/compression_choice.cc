#include "worker/compression_choice.h"

#include "common/status_macros.h"
#include "compressors/automatic/automatic.h"
#include "compressors/automatic/decision_text.h"
#include "compressors/new_compressor.h"
#include "glog/logging.h"

namespace ps {

CompressionChoice::CompressionChoice(const CompressorConfig& config,
                                     int worker_rank, int num_buckets)
    : automatic_(FindCompressor(config.name()).chooses_by_time),
      worker_rank_(worker_rank),
      compressed_(num_buckets, true),
      compressed_next_(compressed_) {
  if (automatic_ && worker_rank == 0) {
    chooser_ = std::make_unique<CompressionChooser>(
        num_buckets, config.auto_().decide_every(), /*delay=*/1);
  }
  costs_.buckets.resize(num_buckets);
}

absl::StatusOr<std::unique_ptr<Compressor>> CompressionChoice::MakeCompressor(
    const CompressorOptions& options) const {
  return automatic_ ? NewAutomaticCompressor(options, &compressed_)
                    : NewCompressor(options);
}

std::optional<bool> CompressionChoice::Wanted(int bucket) const {
  if (chooser_ == nullptr) return std::nullopt;
  return chooser_->compressed()[bucket];
}

void CompressionChoice::Save(StateWriter* writer) const {
  for (const bool compressed : compressed_next_) writer->PutInt(compressed);
}

absl::Status CompressionChoice::Load(StateReader* reader) {
  for (size_t b = 0; b < compressed_next_.size(); ++b) {
    PS_ASSIGN_OR_RETURN(const int64_t compressed, reader->GetInt());
    compressed_next_[b] = compressed != 0;
  }
  return absl::OkStatus();
}

void CompressionChoice::Add(int bucket, const BucketCosts& costs) {
  BucketCosts& sum = costs_.buckets[bucket];
  sum.codec += costs.codec;
  sum.server += costs.server;
  sum.link += costs.link;
  sum.bytes_up += costs.bytes_up;
  sum.bytes_down += costs.bytes_down;
}

void CompressionChoice::IterationTook(double seconds, int64_t push) {
  if (chooser_ == nullptr) return;
  costs_.seconds = seconds;
  const auto decision = chooser_->Observe(costs_);
  const size_t num_buckets = costs_.buckets.size();
  costs_ = ExchangeCosts();
  costs_.buckets.resize(num_buckets);
  if (!decision.has_value() || !(decision->first || decision->changed)) return;
  LOG(INFO) << "worker " << worker_rank_
            << ", auto: " << DescribeDecision(*decision, push + 2);
}

}  // namespace ps
