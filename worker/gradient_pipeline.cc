#include "worker/gradient_pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "glog/logging.h"
#include "transport/weights_digest.h"

namespace ps {
namespace {

// The most dropped gradients in a row, far more than bad batches explain.
constexpr int64_t kMaxSkippedInARow = 100;

// Returns the parameters of one bucket, with offsets relative to its beginning.
std::vector<TensorSpan> TensorsIn(const Bucket& bucket,
                                  const GradientPipelineOptions& options) {
  std::vector<TensorSpan> tensors;
  int last = static_cast<int>(options.parameters.size()) - 1;
  while (last >= 0 && options.parameters[last].shape.size() < 2) --last;
  for (size_t p = 0; p < options.parameters.size(); ++p) {
    const ParameterInfo& parameter = options.parameters[p];
    if (parameter.offset < bucket.begin || parameter.offset >= bucket.end) {
      continue;
    }
    TensorSpan tensor;
    tensor.begin = parameter.offset - bucket.begin;
    tensor.shape = parameter.shape;
    if (!options.uses.empty()) tensor.uses = options.uses[p];
    tensor.first = p == 0;
    tensor.last = static_cast<int>(p) == last;
    tensors.push_back(tensor);
  }
  return tensors;
}

}  // namespace

GradientPipeline::GradientPipeline(const WorkerContext& context)
    : context_(context),
      choice_(context.config->compressor(), context.worker_rank,
              static_cast<int>(context.buckets.size())),
      writer_(context.backend),
      positions_(*context.config, context.worker_rank,
                 static_cast<int>(context.buckets.size()), context.shard_map,
                 context.client,
                 [this](const PositionsAnswer& answer) {
                   return TakePositions(answer);
                 }),
      may_leave_out_(context.config->training().non_finite() ==
                     TrainingConfig::SKIP),
      needs_norm_(may_leave_out_ ||
                  context.config->worker_optimizer().clip_norm() > 0),
      num_trained_(NumTrained(context.buckets)) {}

absl::StatusOr<std::unique_ptr<GradientPipeline>> GradientPipeline::Create(
    const WorkerContext& context, const GradientPipelineOptions& options) {
  auto pipeline =
      std::unique_ptr<GradientPipeline>(new GradientPipeline(context));
  for (size_t b = 0; b < context.buckets.size(); ++b) {
    CompressorOptions compressor;
    compressor.config = context.config->compressor();
    compressor.dense_size = context.buckets[b].size();
    compressor.part_ends = context.shard_map->SliceEnds(static_cast<int>(b));
    compressor.tensors = TensorsIn(context.buckets[b], options);
    compressor.seed = context.config->seed();
    compressor.worker_rank = context.worker_rank;
    compressor.bucket = static_cast<int>(b);
    compressor.num_workers = context.config->cluster().num_workers();
    compressor.backend = context.backend;
    compressor.shared_positions = pipeline->positions_.For(static_cast<int>(b));
    PS_ASSIGN_OR_RETURN(std::unique_ptr<Compressor> made,
                        pipeline->choice_.MakeCompressor(compressor));
    pipeline->compressors_.push_back(std::move(made));
  }
  const bool may_return = MayLeaveOut(*context.config) &&
                          context.config->compressor().error_feedback();
  PS_ASSIGN_OR_RETURN(
      pipeline->residuals_,
      Residuals::Create(context.buckets, may_return, context.backend));
  if (options.overlap) pipeline->thread_ = std::make_unique<TaskThread>();
  return pipeline;
}

void GradientPipeline::Begin(int64_t push, const Tensor& gradient,
                             const Tensor& weights,
                             const PushDetails& details) {
  push_ = push;
  details_ = details;
  choice_.Begin();
  gradient_ = gradient;
  weights_ = weights;
  next_push_ = push + 1;
  next_bucket_ = static_cast<size_t>(details.first_bucket);
  num_ready_ = details.first_bucket;
  num_pushed_ = details.first_bucket;
  account_.Begin();
  positions_.Begin(push);
}

absl::Status GradientPipeline::Ready(double loss, int64_t begin) {
  // Nothing is new below the last bucket.
  if (needs_norm_ && next_bucket_ < context_.buckets.size()) {
    if (begin > context_.buckets.back().begin) return absl::OkStatus();
    PS_ASSIGN_OR_RETURN(const bool leaves_out, LeavesOut(gradient_));
    if (leaves_out) PS_RETURN_IF_ERROR(SpoilEveryBucket());
  }
  while (next_bucket_ < context_.buckets.size() &&
         context_.buckets[next_bucket_].begin >= begin) {
    const int bucket = static_cast<int>(next_bucket_++);
    PS_RETURN_IF_ERROR(thread_ == nullptr ? Send(bucket, loss)
                                          : SendLater(bucket, loss));
  }
  if (thread_ == nullptr) return PollAnswers();
  // No answer can have arrived before the first bucket was sent.
  return overlap_ ? SendLater(std::nullopt, loss) : absl::OkStatus();
}

absl::Status GradientPipeline::PollAnswers() {
  return context_.client->PollAnswers(
      [this](const SliceAnswer& answer) { return Answered(answer); });
}

absl::Status GradientPipeline::SendLater(std::optional<int> bucket,
                                         double loss) {
  if (!overlap_) {
    PS_RETURN_IF_ERROR(context_.backend->StartOverlap());
    overlap_ = true;
  }
  int64_t mark = 0;
  if (bucket.has_value()) {
    PS_ASSIGN_OR_RETURN(mark, context_.backend->Mark());
  }
  return thread_->Run([this, bucket, loss, mark]() -> absl::Status {
    const absl::Time start = SteadyClock()->Now();
    if (bucket.has_value()) {
      PS_RETURN_IF_ERROR(context_.backend->CompressAfter(mark));
      PS_RETURN_IF_ERROR(Send(*bucket, loss));
    }
    PS_RETURN_IF_ERROR(PollAnswers());
    account_.Overlapped(absl::ToDoubleSeconds(SteadyClock()->Now() - start));
    return absl::OkStatus();
  });
}

absl::Status GradientPipeline::EndOverlap() {
  if (!overlap_) return absl::OkStatus();
  absl::Status status = thread_->Await();
  overlap_ = false;
  status.Update(context_.backend->EndOverlap());
  return status;
}

void GradientPipeline::Abandon() {
  const absl::Status status = EndOverlap();
  if (!status.ok()) LOG(WARNING) << "while giving up: " << status;
}

absl::Status GradientPipeline::Send(int b, double loss) {
  num_ready_ = b + 1;
  loss_ = loss;
  positions_.Ready(b);
  return SendWhatIsReady();
}

absl::Status GradientPipeline::SendWhatIsReady() {
  while (num_pushed_ < num_ready_ && positions_.Knows(num_pushed_)) {
    PS_RETURN_IF_ERROR(CompressAndPush(num_pushed_++));
  }
  return absl::OkStatus();
}

absl::Status GradientPipeline::CompressAndPush(int b) {
  PS_ASSIGN_OR_RETURN(const CompressedBucket compressed, Compress(b));
  account_.Compressed(compressed, row());
  AddCosts(compressed);
  residuals_->Sent(b, compressed.encoded.parts);
  return Push(b, positions_.ToPush(b, compressed.encoded));
}

absl::Status GradientPipeline::TakePositions(const PositionsAnswer& answer) {
  account_.PositionsArrived(answer);
  positions_.Take(answer);
  return SendWhatIsReady();
}

absl::StatusOr<CompressedBucket> GradientPipeline::Compress(int b) {
  const Bucket& bucket = context_.buckets[b];
  CompressedBucket compressed;
  compressed.bucket = b;
  compressed.num_elements = bucket.size();
  compressed.start = SteadyClock()->Now();
  // A dropped gradient makes no step.
  if (context_.own_weights != nullptr && skipped_in_a_row_ == 0) {
    PS_RETURN_IF_ERROR(
        context_.own_weights->Step(bucket.begin, bucket.end, &gradient_));
  }
  PS_ASSIGN_OR_RETURN(
      compressed.encoded,
      compressors_[b]->Compress(gradient_.Slice(bucket.begin, bucket.end),
                                residuals_->of(b)));
  if (compressed.encoded.stats.non_finite) {
    // The gradient was dropped already, unless the residual has overflowed.
    if (skipped_in_a_row_ == 0) return NotFinite();
  } else if (!context_.config->compressor().error_feedback()) {
    PS_RETURN_IF_ERROR(residuals_->Clear(b));
  }
  compressed.end = SteadyClock()->Now();
  for (const PayloadBuffer& part : compressed.encoded.parts) {
    compressed.size_bytes += static_cast<int64_t>(part.size_bytes());
  }
  return compressed;
}

absl::StatusOr<bool> GradientPipeline::LeavesOut(const Tensor& gradient) {
  if (!needs_norm_) return false;
  PS_ASSIGN_OR_RETURN(const double norm, NormOf(gradient));
  if (!may_leave_out_ || std::isfinite(norm)) {
    skipped_in_a_row_ = 0;
    if (context_.own_weights != nullptr) context_.own_weights->Clip(norm);
    return false;
  }
  if (++skipped_in_a_row_ >= kMaxSkippedInARow) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the gradient of worker ", context_.worker_rank,
        " is not finite, nor are the ", kMaxSkippedInARow - 1,
        " before it: training has diverged; lower ", Rule(), ".learning_rate"));
  }
  LOG(WARNING) << "a gradient of worker " << context_.worker_rank
               << " is not finite, and left out";
  return true;
}

absl::StatusOr<double> GradientPipeline::NormOf(const Tensor& gradient) const {
  double squares = 0;
  for (const Bucket& bucket : context_.buckets) {
    double of_bucket = 0;
    PS_RETURN_IF_ERROR(context_.backend->sparse().SumSquares(
        gradient.data() + bucket.begin, bucket.size(), &of_bucket));
    squares += of_bucket;
  }
  return std::sqrt(squares);
}

absl::Status GradientPipeline::StepLocally(Tensor* gradient) {
  PS_ASSIGN_OR_RETURN(const bool leaves_out, LeavesOut(*gradient));
  if (leaves_out) return absl::OkStatus();
  for (const Bucket& bucket : context_.buckets) {
    PS_RETURN_IF_ERROR(
        context_.own_weights->Step(bucket.begin, bucket.end, gradient));
  }
  return residuals_->Add(*gradient);
}

// Compressors send nothing of a gradient that is not finite, and keep their
// state.
absl::Status GradientPipeline::SpoilEveryBucket() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Bucket& bucket : context_.buckets) {
    if (bucket.size() == 0) continue;
    Tensor first = gradient_.Slice(bucket.begin, bucket.begin + 1);
    PS_RETURN_IF_ERROR(context_.backend->CopyFromHost(&nan, &first));
  }
  return absl::OkStatus();
}

absl::string_view GradientPipeline::Rule() const {
  return context_.config->has_worker_optimizer() ? "worker_optimizer"
                                                 : "optimizer";
}

absl::Status GradientPipeline::NotFinite() const {
  if (may_leave_out_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the residual of worker ", context_.worker_rank,
        " is not finite in push ", push_, ": training has diverged; lower ",
        Rule(), ".learning_rate"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the gradient of worker ", context_.worker_rank,
      " is not finite in push ", push_, "; lower ", Rule(),
      ".learning_rate, or set training.non_finite=SKIP to leave such "
      "iterations out"));
}

absl::Status GradientPipeline::Push(int b,
                                    const std::vector<PayloadBuffer>& parts) {
  BucketPush push;
  push.iteration = push_;
  push.bucket = b;
  push.loss = loss_;
  push.samples = details_.samples;
  push.compress_next = choice_.Wanted(b);
  const int64_t digest_every = context_.config->consistency().digest_every();
  if (digest_every > 0 && push_ % digest_every == 0) {
    PS_ASSIGN_OR_RETURN(push.weights_digests, WeightsDigests(b));
  }
  const TraceSpan span(account_.trace(), row(),
                       absl::StrCat("push bucket ", b));
  return context_.client->Push(push, parts);
}

absl::StatusOr<std::vector<uint64_t>> GradientPipeline::WeightsDigests(int b) {
  std::vector<uint64_t> digests;
  const int64_t begin = context_.buckets[b].begin;
  for (const Slice& slice : context_.shard_map->slices(b)) {
    staging_.resize(slice.size());
    PS_RETURN_IF_ERROR(context_.backend->CopyToHost(
        weights_.Slice(begin + slice.begin, begin + slice.end),
        staging_.data()));
    digests.push_back(WeightsDigest(staging_.data(), slice.size()));
  }
  return digests;
}

absl::Status GradientPipeline::Answered(const SliceAnswer& answer) {
  // Except in asynchronous modes, every answer has the next version.
  const bool next = answer.version == push_ + 1;
  if (!next && !WorkersDrift(*context_.config)) {
    return absl::InternalError(absl::StrCat("answer to push ", push_,
                                            " has version ", answer.version));
  }
  if (MayLeaveOut(*context_.config)) {
    next_push_ = std::max(next_push_, answer.version);
  }
  if (answer.compress_next.has_value()) {
    choice_.Told(answer.slice->bucket, *answer.compress_next);
  }
  if (answer.dropped) {
    PS_RETURN_IF_ERROR(residuals_->PutBack(*answer.slice));
  }
  const absl::Time start = SteadyClock()->Now();
  if (AnswersMeans(*context_.config) &&
      answer.info.index_code != IndexCode::kDense) {
    // An element that a mean lacks is 0.
    const int64_t begin = context_.buckets[answer.slice->bucket].begin;
    PS_RETURN_IF_ERROR(context_.backend->sparse().Clear(
        weights_.data() + begin + answer.slice->begin, answer.slice->size()));
  }
  PS_RETURN_IF_ERROR(writer_.Write(
      answer, context_.buckets[answer.slice->bucket].begin, &weights_));
  if (context_.own_weights != nullptr) PS_RETURN_IF_ERROR(Follow(answer));
  const AppliedAnswer applied = {answer, start, SteadyClock()->Now()};
  account_.Applied(applied, row());
  AddCosts(applied);
  return absl::OkStatus();
}

absl::Status GradientPipeline::Follow(const SliceAnswer& answer) {
  const Slice& slice = *answer.slice;
  const int64_t begin = context_.buckets[slice.bucket].begin + slice.begin;
  const Tensor x = weights_.Slice(begin, begin + slice.size());
  const Tensor e = residuals_->of(slice.bucket)->Slice(slice.begin, slice.end);
  // Where e changed, this worker has sent an element, and unless its push was
  // dropped, an answer that covers all pushes has these elements.
  const std::vector<uint32_t>* const indices = writer_.changed();
  if (indices != nullptr && answer.covers_pushes && !answer.dropped &&
      context_.own_weights->can_follow_at()) {
    context_.own_weights->FollowAt(*indices, begin, x, e);
    return absl::OkStatus();
  }
  return context_.own_weights->Follow(begin, x, e);
}

absl::Status GradientPipeline::Save(StateWriter* writer) const {
  choice_.Save(writer);
  for (const auto& compressor : compressors_) {
    writer->PutBytes(compressor->SaveState());
  }
  return absl::OkStatus();
}

absl::Status GradientPipeline::Load(StateReader* reader) {
  PS_RETURN_IF_ERROR(choice_.Load(reader));
  for (const auto& compressor : compressors_) {
    PS_ASSIGN_OR_RETURN(const absl::string_view state, reader->GetBytes());
    PS_RETURN_IF_ERROR(compressor->LoadState(state));
  }
  return absl::OkStatus();
}

absl::Status GradientPipeline::FollowServers(const Tensor& from_servers) {
  for (size_t b = 0; b < context_.buckets.size(); ++b) {
    const Bucket& bucket = context_.buckets[b];
    PS_RETURN_IF_ERROR(context_.own_weights->Follow(
        bucket.begin, from_servers.Slice(bucket.begin, bucket.end),
        *residuals_->of(static_cast<int>(b))));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExchangeStats> GradientPipeline::Await() {
  const absl::Time start = SteadyClock()->Now();
  const TraceSpan span(account_.trace(), TraceRecorder::Row::kTrainer, "await");
  PS_RETURN_IF_ERROR(EndOverlap());
  account_.BeginAwait(start);
  PS_RETURN_IF_ERROR(context_.client->AwaitAnswers(
      [this](const SliceAnswer& answer) { return Answered(answer); }));
  ExchangeStats stats = account_.End();
  stats.next_push = next_push_;
  return stats;
}

void GradientPipeline::AddCosts(const CompressedBucket& compressed) {
  if (!choice_.automatic()) return;
  BucketCosts costs;
  costs.codec = compressed.seconds();
  costs.bytes_up = compressed.size_bytes;
  choice_.Add(compressed.bucket, costs);
  const int64_t num_compressed =
      compressed.encoded.stats.chosen_dense ? 0 : compressed.num_elements;
  account_.AddCompressedShare(static_cast<double>(num_compressed) /
                              static_cast<double>(num_trained_));
}

void GradientPipeline::AddCosts(const AppliedAnswer& applied) {
  if (!choice_.automatic()) return;
  const SliceAnswer& answer = applied.answer;
  const int b = answer.slice->bucket;
  const auto slices = static_cast<double>(context_.shard_map->slices(b).size());
  BucketCosts costs;
  costs.codec = applied.seconds();
  costs.server = answer.timings.work();
  costs.link =
      (absl::ToDoubleSeconds(answer.latency) - answer.timings.held) / slices;
  costs.bytes_down = answer.bytes_down;
  choice_.Add(b, costs);
}

}  // namespace ps
