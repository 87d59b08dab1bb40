#include "worker/gradient_pipeline.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "common/weights_digest.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "glog/logging.h"

namespace ps {
namespace {

std::string SliceName(const Slice& slice) {
  return absl::StrCat("bucket ", slice.bucket, " slice ", slice.index);
}

// The parameters of one bucket, with offsets relative to its beginning.
std::vector<TensorSpan> TensorsIn(const Bucket& bucket,
                                  const std::vector<ParameterInfo>& all) {
  std::vector<TensorSpan> tensors;
  for (const ParameterInfo& parameter : all) {
    if (parameter.offset < bucket.begin || parameter.offset >= bucket.end) {
      continue;
    }
    tensors.push_back({parameter.offset - bucket.begin, parameter.shape});
  }
  return tensors;
}

}  // namespace

GradientPipeline::GradientPipeline(const GradientPipelineOptions& options)
    : options_(options),
      choice_(options.config->compressor(), options.worker_rank,
              static_cast<int>(options.buckets.size())),
      writer_(options.backend) {}

absl::StatusOr<std::unique_ptr<GradientPipeline>> GradientPipeline::Create(
    const GradientPipelineOptions& options) {
  auto pipeline =
      std::unique_ptr<GradientPipeline>(new GradientPipeline(options));
  for (size_t b = 0; b < options.buckets.size(); ++b) {
    CompressorOptions compressor;
    compressor.config = options.config->compressor();
    compressor.dense_size = options.buckets[b].size();
    compressor.part_ends = options.shard_map->SliceEnds(static_cast<int>(b));
    compressor.tensors = TensorsIn(options.buckets[b], options.parameters);
    compressor.seed = options.config->seed();
    compressor.worker_rank = options.worker_rank;
    compressor.bucket = static_cast<int>(b);
    compressor.num_workers = options.config->cluster().num_workers();
    compressor.backend = options.backend;
    if (pipeline->choice_.automatic()) {
      compressor.compressed_buckets = &pipeline->choice_.compressed();
    }
    PS_ASSIGN_OR_RETURN(std::unique_ptr<Compressor> made,
                        NewCompressor(compressor));
    pipeline->compressors_.push_back(std::move(made));
  }
  const bool may_return = MayLeaveOut(*options.config) &&
                          options.config->compressor().error_feedback();
  PS_ASSIGN_OR_RETURN(
      pipeline->residuals_,
      Residuals::Create(options.buckets, may_return, options.backend));
  if (options.overlap) pipeline->thread_ = std::make_unique<TaskThread>();
  return pipeline;
}

void GradientPipeline::Begin(int64_t push, const Tensor& gradient,
                             const Tensor& weights) {
  push_ = push;
  choice_.Begin();
  gradient_ = gradient;
  weights_ = weights;
  first_push_ = absl::InfiniteFuture();
  last_answer_ = absl::InfinitePast();
  num_answers_ = 0;
  next_bucket_ = 0;
  stats_ = ExchangeStats();
  stats_.next_push = push + 1;
}

absl::Status GradientPipeline::Ready(double loss, int64_t begin) {
  while (next_bucket_ < options_.buckets.size() &&
         options_.buckets[next_bucket_].begin >= begin) {
    const int bucket = static_cast<int>(next_bucket_++);
    PS_RETURN_IF_ERROR(thread_ == nullptr ? Send(bucket, loss)
                                          : SendLater(bucket, loss));
  }
  if (thread_ == nullptr) return PollAnswers();
  // No answer can have arrived before the first bucket was sent.
  return overlap_ ? SendLater(std::nullopt, loss) : absl::OkStatus();
}

absl::Status GradientPipeline::PollAnswers() {
  return options_.client->PollAnswers(
      [this](const SliceAnswer& answer) { return Answered(answer); });
}

absl::Status GradientPipeline::SendLater(std::optional<int> bucket,
                                         double loss) {
  if (!overlap_) {
    PS_RETURN_IF_ERROR(options_.backend->StartOverlap());
    overlap_ = true;
  }
  int64_t mark = 0;
  if (bucket.has_value()) {
    PS_ASSIGN_OR_RETURN(mark, options_.backend->Mark());
  }
  return thread_->Run([this, bucket, loss, mark]() -> absl::Status {
    const absl::Time start = absl::Now();
    if (bucket.has_value()) {
      PS_RETURN_IF_ERROR(options_.backend->CompressAfter(mark));
      PS_RETURN_IF_ERROR(Send(*bucket, loss));
    }
    PS_RETURN_IF_ERROR(PollAnswers());
    stats_.phases.overlapped += absl::ToDoubleSeconds(absl::Now() - start);
    return absl::OkStatus();
  });
}

absl::Status GradientPipeline::EndOverlap() {
  if (!overlap_) return absl::OkStatus();
  absl::Status status = thread_->Await();
  overlap_ = false;
  status.Update(options_.backend->EndOverlap());
  return status;
}

void GradientPipeline::Abandon() {
  const absl::Status status = EndOverlap();
  if (!status.ok()) LOG(WARNING) << "while giving up: " << status;
}

absl::Status GradientPipeline::Send(int b, double loss) {
  const absl::Time start = absl::Now();
  const Bucket& bucket = options_.buckets[b];
  PS_ASSIGN_OR_RETURN(
      const EncodedGradient encoded,
      compressors_[b]->Compress(gradient_.Slice(bucket.begin, bucket.end),
                                residuals_->of(b)));
  if (encoded.stats.non_finite) {
    const std::string what =
        absl::StrCat("the gradient of worker ", options_.worker_rank,
                     " is not finite in push ", push_);
    if (options_.config->training().non_finite() == TrainingConfig::FAIL) {
      return absl::FailedPreconditionError(absl::StrCat(
          what,
          "; lower optimizer.learning_rate, or set training.non_finite=SKIP to "
          "leave such iterations out"));
    }
    LOG(WARNING) << what << "; nothing is sent";
  } else if (!options_.config->compressor().error_feedback()) {
    PS_RETURN_IF_ERROR(residuals_->Clear(b));
  }
  stats_.compression.push_back(encoded.stats);
  const absl::Time end = absl::Now();
  stats_.phases.compress += absl::ToDoubleSeconds(end - start);
  if (choice_.automatic()) {
    BucketCosts costs;
    costs.codec = absl::ToDoubleSeconds(end - start);
    for (const PayloadBuffer& part : encoded.parts) {
      costs.bytes_up += static_cast<int64_t>(part.size_bytes());
    }
    choice_.Add(b, costs);
    const int64_t compressed = encoded.stats.chosen_dense ? 0 : bucket.size();
    stats_.compressed_share =
        stats_.compressed_share.value_or(0) +
        static_cast<double>(compressed) / static_cast<double>(gradient_.size());
  }
  if (trace_ != nullptr) {
    int64_t bytes = 0;
    for (const PayloadBuffer& part : encoded.parts) {
      bytes += static_cast<int64_t>(part.size_bytes());
    }
    trace_->Span(row(), absl::StrCat("compress bucket ", b), start, end,
                 {{"elements", bucket.size()},
                  {"sent_elements", encoded.stats.count},
                  {"achieved_ratio", static_cast<double>(encoded.stats.count) /
                                         static_cast<double>(bucket.size())},
                  {"bytes", bytes}});
  }
  first_push_ = std::min(first_push_, end);
  residuals_->Sent(b, encoded.parts);
  BucketPush push;
  push.iteration = push_;
  push.bucket = b;
  push.loss = loss;
  push.compress_next = choice_.Wanted(b);
  const int64_t digest_every = options_.config->consistency().digest_every();
  if (digest_every > 0 && push_ % digest_every == 0) {
    PS_ASSIGN_OR_RETURN(push.weights_digests, WeightsDigests(b));
  }
  const TraceSpan span(trace_, row(), absl::StrCat("push bucket ", b));
  return options_.client->Push(push, encoded.parts);
}

absl::StatusOr<std::vector<uint64_t>> GradientPipeline::WeightsDigests(int b) {
  std::vector<uint64_t> digests;
  const int64_t begin = options_.buckets[b].begin;
  for (const Slice& slice : options_.shard_map->slices(b)) {
    staging_.resize(slice.size());
    PS_RETURN_IF_ERROR(options_.backend->CopyToHost(
        weights_.Slice(begin + slice.begin, begin + slice.end),
        staging_.data()));
    digests.push_back(WeightsDigest(staging_.data(), slice.size()));
  }
  return digests;
}

absl::Status GradientPipeline::Answered(const SliceAnswer& answer) {
  // Unless workers may drift apart, every answer has the next version.
  const bool next = answer.version == push_ + 1;
  if (!next && !WorkersDrift(*options_.config)) {
    return absl::InternalError(absl::StrCat("answer to push ", push_,
                                            " has version ", answer.version));
  }
  if (MayLeaveOut(*options_.config)) {
    stats_.next_push = std::max(stats_.next_push, answer.version);
  }
  if (answer.compress_next.has_value()) {
    choice_.Told(answer.slice->bucket, *answer.compress_next);
  }
  if (answer.left_out) {
    ++stats_.left_out;
    PS_RETURN_IF_ERROR(residuals_->PutBack(*answer.slice));
  }
  stats_.mean_staleness += static_cast<double>(answer.staleness);
  stats_.max_staleness = std::max(stats_.max_staleness, answer.staleness);
  const absl::Time start = absl::Now();
  // Every slice's answer carries the same loss, unless workers may drift apart.
  stats_.mean_loss = answer.mean_loss;
  stats_.sent_elements += answer.sent_elements;
  stats_.bytes_up += answer.bytes_up;
  stats_.bytes_down += answer.bytes_down;
  PS_RETURN_IF_ERROR(writer_.Write(
      answer, options_.buckets[answer.slice->bucket].begin, &weights_));
  ExchangePhases& phases = stats_.phases;
  last_answer_ = absl::Now();
  phases.apply += absl::ToDoubleSeconds(last_answer_ - start);
  phases.wire += absl::ToDoubleSeconds(answer.latency) - answer.work.held;
  phases.server.held += answer.work.held;
  phases.server.wait += answer.work.wait;
  phases.server.update += answer.work.update;
  ++num_answers_;
  AddCosts(answer, absl::ToDoubleSeconds(last_answer_ - start));
  if (trace_ != nullptr) {
    TraceAnswer(answer);
    trace_->Span(row(), absl::StrCat("apply ", SliceName(*answer.slice)), start,
                 last_answer_, {{"bytes", answer.bytes_down}});
  }
  return absl::OkStatus();
}

void GradientPipeline::TraceAnswer(const SliceAnswer& answer) const {
  constexpr double kMicros = 1e6;
  const ServerWork& work = answer.work;
  trace_->UnderWay(SliceName(*answer.slice), answer.sent, answer.arrived,
                   {{"server", int64_t{answer.slice->server}},
                    {"bytes_down", answer.bytes_down},
                    {"held_us", work.held * kMicros},
                    {"wait_us", work.wait * kMicros},
                    {"sum_us", work.update.sum * kMicros},
                    {"optimizer_us", work.update.optimizer * kMicros},
                    {"encode_us", work.update.encode * kMicros}});
}

void GradientPipeline::AddCosts(const SliceAnswer& answer,
                                double apply_seconds) {
  const int b = answer.slice->bucket;
  const auto slices = static_cast<double>(options_.shard_map->slices(b).size());
  BucketCosts costs;
  costs.codec = apply_seconds;
  costs.server = answer.work.update.total();
  costs.link =
      (absl::ToDoubleSeconds(answer.latency) - answer.work.held) / slices;
  costs.bytes_down = answer.bytes_down;
  choice_.Add(b, costs);
}

absl::StatusOr<ExchangeStats> GradientPipeline::Await() {
  const absl::Time start = absl::Now();
  const TraceSpan span(trace_, TraceRecorder::Row::kTrainer, "await");
  PS_RETURN_IF_ERROR(EndOverlap());
  const double applied = stats_.phases.apply;
  PS_RETURN_IF_ERROR(options_.client->AwaitAnswers(
      [this](const SliceAnswer& answer) { return Answered(answer); }));
  ExchangePhases& phases = stats_.phases;
  phases.await =
      absl::ToDoubleSeconds(absl::Now() - start) - (phases.apply - applied);
  phases.communication =
      std::max(0.0, absl::ToDoubleSeconds(last_answer_ - first_push_));
  if (num_answers_ > 0) {
    for (double* mean : {&phases.wire, &phases.server.held, &phases.server.wait,
                         &stats_.mean_staleness}) {
      *mean /= static_cast<double>(num_answers_);
    }
  }
  return std::move(stats_);
}

}  // namespace ps
