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
#include "compressors/automatic/decision_text.h"
#include "compressors/new_compressor.h"
#include "compressors/payload.h"
#include "glog/logging.h"

namespace ps {
namespace {

// Elements of a residual that are looked at at a time; they fit the caches.
constexpr int64_t kStretch = 64 * 1024;

// The parameters of one bucket, counted from its begin.
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

absl::StatusOr<std::unique_ptr<GradientPipeline>> GradientPipeline::Create(
    const GradientPipelineOptions& options) {
  auto pipeline =
      std::unique_ptr<GradientPipeline>(new GradientPipeline(options));
  const CompressorConfig& config = options.config->compressor();
  const bool automatic = config.name() == "auto";
  if (automatic && options.worker_rank == 0) {
    // A push carries the choice, and its answers tell all workers.
    pipeline->chooser_ = std::make_unique<CompressionChooser>(
        options.buckets.size(), config.auto_().decide_every(), /*delay=*/1);
  }
  pipeline->compressed_.assign(options.buckets.size(), true);
  pipeline->compressed_next_ = pipeline->compressed_;
  pipeline->costs_.buckets.resize(options.buckets.size());
  for (size_t b = 0; b < options.buckets.size(); ++b) {
    CompressorOptions compressor;
    compressor.config = config;
    compressor.dense_size = options.buckets[b].size();
    compressor.part_ends = options.shard_map->SliceEnds(static_cast<int>(b));
    compressor.tensors = TensorsIn(options.buckets[b], options.parameters);
    compressor.seed = options.config->seed();
    compressor.worker_rank = options.worker_rank;
    compressor.bucket = static_cast<int>(b);
    compressor.num_workers = options.config->cluster().num_workers();
    compressor.backend = options.backend;
    if (automatic) compressor.compressed_buckets = &pipeline->compressed_;
    PS_ASSIGN_OR_RETURN(std::unique_ptr<Compressor> made,
                        NewCompressor(compressor));
    pipeline->compressors_.push_back(std::move(made));
    PS_ASSIGN_OR_RETURN(Tensor residual,
                        options.backend->Allocate({compressor.dense_size}));
    pipeline->residuals_.push_back(std::move(residual));
  }
  if (MayLeaveOut(*options.config) &&
      options.config->compressor().error_feedback()) {
    pipeline->sent_.resize(options.buckets.size());
  }
  return pipeline;
}

void GradientPipeline::Begin(int64_t push, const Tensor& gradient,
                             const Tensor& weights) {
  push_ = push;
  compressed_ = compressed_next_;
  gradient_ = gradient;
  weights_ = weights;
  first_push_ = absl::InfiniteFuture();
  last_answer_ = absl::InfinitePast();
  num_answers_ = 0;
  next_bucket_ = 0;
  stats_ = ExchangeStats();
  stats_.next_push = push + 1;
}

absl::Status GradientPipeline::Ready(double loss, int64_t begin, int64_t) {
  while (next_bucket_ < options_.buckets.size() &&
         options_.buckets[next_bucket_].begin >= begin) {
    PS_RETURN_IF_ERROR(Send(static_cast<int>(next_bucket_), loss));
    ++next_bucket_;
  }
  return options_.client->PollAnswers(
      [this](const SliceAnswer& answer) { return Answered(answer); });
}

absl::Status GradientPipeline::Send(int b, double loss) {
  const absl::Time start = absl::Now();
  const Bucket& bucket = options_.buckets[b];
  Tensor& residual = residuals_[b];
  PS_ASSIGN_OR_RETURN(
      const EncodedGradient encoded,
      compressors_[b]->Compress(gradient_.Slice(bucket.begin, bucket.end),
                                &residual));
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
    PS_RETURN_IF_ERROR(
        options_.backend->sparse().Clear(residual.data(), residual.size()));
  }
  stats_.compression.push_back(encoded.stats);
  const absl::Time end = absl::Now();
  stats_.phases.compress += absl::ToDoubleSeconds(end - start);
  if (options_.config->compressor().name() == "auto") {
    costs_.buckets[b].codec += absl::ToDoubleSeconds(end - start);
    for (const PayloadBuffer& part : encoded.parts) {
      costs_.buckets[b].bytes_up += static_cast<int64_t>(part.size_bytes());
    }
    const int64_t compressed = encoded.stats.chosen_dense ? 0 : bucket.size();
    stats_.compressed_share =
        stats_.compressed_share.value_or(0) +
        static_cast<double>(compressed) / static_cast<double>(gradient_.size());
  }
  first_push_ = std::min(first_push_, end);
  if (!sent_.empty()) sent_[b] = encoded.parts;
  BucketPush push;
  push.iteration = push_;
  push.bucket = b;
  push.loss = loss;
  if (chooser_ != nullptr) push.compress_next = chooser_->compressed()[b];
  const int64_t digest_every = options_.config->consistency().digest_every();
  if (digest_every > 0 && push_ % digest_every == 0) {
    PS_ASSIGN_OR_RETURN(push.weights_digests, WeightsDigests(b));
  }
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

absl::Status GradientPipeline::PutBack(const Slice& slice) {
  const PayloadPieces pieces = {sent_[slice.bucket][slice.index].span()};
  Tensor part = residuals_[slice.bucket].Slice(slice.begin, slice.end);
  staging_.resize(slice.size());
  PS_RETURN_IF_ERROR(options_.backend->CopyToHost(part, staging_.data()));
  AddPayload(pieces, staging_.data());
  return options_.backend->CopyFromHost(staging_.data(), &part);
}

absl::Status GradientPipeline::Apply(const SliceAnswer& answer, int64_t begin,
                                     Tensor* values) {
  const Slice& slice = *answer.slice;
  if (answer.payload.empty()) {
    return absl::DataLossError("an answer came without weights");
  }
  Tensor part = values->Slice(begin + slice.begin, begin + slice.end);
  if (answer.info.index_code == IndexCode::kDense) {
    staging_.resize(slice.size());
    if (answer.difference) {
      PS_RETURN_IF_ERROR(options_.backend->CopyToHost(part, staging_.data()));
      AddPayload(answer.payload, staging_.data());
    } else {
      DecodeDensePayload(answer.payload, absl::MakeSpan(staging_));
    }
    return options_.backend->CopyFromHost(staging_.data(), &part);
  }
  SparseKernels& kernels = options_.backend->sparse();
  DecodePayload(answer.payload, &selection_.indices, &selection_.values);
  if (answer.difference) {
    changes_ = selection_.values;
    PS_RETURN_IF_ERROR(kernels.Gather(part.data(), &selection_));
    for (size_t i = 0; i < changes_.size(); ++i) {
      selection_.values[i] += changes_[i];
    }
  }
  return kernels.Scatter(selection_, part.data());
}

absl::Status GradientPipeline::Answered(const SliceAnswer& answer) {
  // Workers that do not drift get the next version, all of them.
  const bool next = answer.version == push_ + 1;
  if (!next && !WorkersDrift(*options_.config)) {
    return absl::InternalError(absl::StrCat("answer to push ", push_,
                                            " has version ", answer.version));
  }
  if (MayLeaveOut(*options_.config)) {
    stats_.next_push = std::max(stats_.next_push, answer.version);
  }
  if (answer.compress_next.has_value()) {
    compressed_next_[answer.slice->bucket] = *answer.compress_next;
  }
  if (answer.left_out) {
    ++stats_.left_out;
    if (!sent_.empty()) PS_RETURN_IF_ERROR(PutBack(*answer.slice));
  }
  stats_.mean_staleness += static_cast<double>(answer.staleness);
  stats_.max_staleness = std::max(stats_.max_staleness, answer.staleness);
  const absl::Time start = absl::Now();
  // Every slice's answer carries the same loss, but where workers drift.
  stats_.mean_loss = answer.mean_loss;
  stats_.sent_elements += answer.sent_elements;
  stats_.bytes_up += answer.bytes_up;
  stats_.bytes_down += answer.bytes_down;
  PS_RETURN_IF_ERROR(
      Apply(answer, options_.buckets[answer.slice->bucket].begin, &weights_));
  ExchangePhases& phases = stats_.phases;
  last_answer_ = absl::Now();
  phases.apply += absl::ToDoubleSeconds(last_answer_ - start);
  phases.wire += absl::ToDoubleSeconds(answer.latency) - answer.work.held;
  phases.held += answer.work.held;
  phases.server_wait += answer.work.wait;
  phases.server_sum += answer.work.sum;
  phases.server_optimizer += answer.work.optimizer;
  phases.server_encode += answer.work.encode;
  ++num_answers_;
  AddCosts(answer, absl::ToDoubleSeconds(last_answer_ - start));
  return absl::OkStatus();
}

void GradientPipeline::AddCosts(const SliceAnswer& answer,
                                double apply_seconds) {
  const int b = answer.slice->bucket;
  const auto slices = static_cast<double>(options_.shard_map->slices(b).size());
  BucketCosts& costs = costs_.buckets[b];
  costs.codec += apply_seconds;
  costs.server += answer.work.sum + answer.work.optimizer + answer.work.encode;
  costs.link +=
      (absl::ToDoubleSeconds(answer.latency) - answer.work.held) / slices;
  costs.bytes_down += answer.bytes_down;
}

void GradientPipeline::IterationTook(double seconds) {
  if (chooser_ == nullptr) return;
  costs_.seconds += seconds;
  // An iteration without an exchange counts with the next that has one.
  if (num_answers_ == 0) return;
  num_answers_ = 0;
  const auto decision = chooser_->Observe(costs_);
  costs_ = ExchangeCosts();
  costs_.buckets.resize(options_.buckets.size());
  if (!decision.has_value() || !(decision->first || decision->changed)) return;
  LOG(INFO) << "worker " << options_.worker_rank
            << ", auto: " << DescribeDecision(*decision, push_ + 2);
}

absl::StatusOr<ExchangeStats> GradientPipeline::Await() {
  const absl::Time start = absl::Now();
  const double applied = stats_.phases.apply;
  PS_RETURN_IF_ERROR(options_.client->AwaitAnswers(
      [this](const SliceAnswer& answer) { return Answered(answer); }));
  ExchangePhases& phases = stats_.phases;
  phases.await =
      absl::ToDoubleSeconds(absl::Now() - start) - (phases.apply - applied);
  phases.communication =
      std::max(0.0, absl::ToDoubleSeconds(last_answer_ - first_push_));
  if (num_answers_ > 0) {
    for (double* mean : {&phases.wire, &phases.held, &phases.server_wait,
                         &stats_.mean_staleness}) {
      *mean /= static_cast<double>(num_answers_);
    }
  }
  return std::move(stats_);
}

absl::StatusOr<double> GradientPipeline::ResidualNorm() {
  double squares = 0;
  for (const Tensor& residual : residuals_) {
    for (int64_t begin = 0; begin < residual.size(); begin += kStretch) {
      const int64_t end = std::min(residual.size(), begin + kStretch);
      staging_.resize(end - begin);
      PS_RETURN_IF_ERROR(options_.backend->CopyToHost(
          residual.Slice(begin, end), staging_.data()));
      for (const float x : staging_) squares += double{x} * x;
    }
  }
  return std::sqrt(squares);
}

absl::StatusOr<int64_t> GradientPipeline::CatchUp(int64_t next_push) {
  int64_t newest = next_push;
  PS_RETURN_IF_ERROR(options_.client->PullLastWeights(
      next_push, /*averagings=*/0,
      [&](const SliceAnswer& answer) -> absl::Status {
        const int bucket = answer.slice->bucket;
        if (bucket == statistics_bucket()) return absl::OkStatus();
        newest = std::max(newest, answer.version);
        return Apply(answer, options_.buckets[bucket].begin, &weights_);
      }));
  return newest;
}

absl::Status GradientPipeline::PullWeights(Tensor* weights,
                                           Tensor* statistics) {
  return PullLastWeights(0, 0, weights, statistics);
}

absl::Status GradientPipeline::PullLastWeights(int64_t pushes,
                                               int64_t averagings,
                                               Tensor* weights,
                                               Tensor* statistics) {
  return options_.client->PullLastWeights(
      pushes, averagings, [&](const SliceAnswer& answer) {
        const int bucket = answer.slice->bucket;
        if (bucket == statistics_bucket()) return Apply(answer, 0, statistics);
        return Apply(answer, options_.buckets[bucket].begin, weights);
      });
}

absl::StatusOr<AveragingStats> GradientPipeline::AverageStatistics(
    int64_t averaging, Tensor* statistics) {
  AveragingStats stats;
  if (options_.num_statistics == 0) return stats;
  staging_.resize(options_.num_statistics);
  PS_RETURN_IF_ERROR(
      options_.backend->CopyToHost(*statistics, staging_.data()));
  std::vector<PayloadBuffer> parts;
  for (const Slice& slice : options_.shard_map->slices(statistics_bucket())) {
    parts.push_back(EncodeDense(
        {staging_.data() + slice.begin, static_cast<size_t>(slice.size())}));
  }
  BucketPush push;
  push.iteration = averaging;
  push.bucket = statistics_bucket();
  PS_RETURN_IF_ERROR(options_.client->Push(push, parts));
  PS_RETURN_IF_ERROR(options_.client->AwaitAnswers(
      [&](const SliceAnswer& answer) -> absl::Status {
        if (answer.version != averaging + 1 &&
            !WorkersDrift(*options_.config)) {
          return absl::InternalError(
              absl::StrCat("statistics have version ", answer.version,
                           " after averaging ", averaging));
        }
        stats.bytes_up += answer.bytes_up;
        stats.bytes_down += answer.bytes_down;
        return Apply(answer, 0, statistics);
      }));
  return stats;
}

}  // namespace ps
