#include "worker/tensorboard/tensorboard.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/metric.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "worker/tensorboard/histogram.h"

namespace ps {
namespace {

void Add(const std::string& tag, double value, TensorBoardSummary* summary) {
  TensorBoardValue* const added = summary->add_value();
  added->set_tag(tag);
  added->set_simple_value(static_cast<float>(value));
}

void AddCompression(const IterationRecord& record,
                    TensorBoardSummary* summary) {
  Add("compression/achieved_ratio", record.achieved_ratio, summary);
  for (size_t b = 0; b < record.buckets.size(); ++b) {
    const CompressionStats& bucket = record.buckets[b];
    if (bucket.threshold > 0) {
      Add(absl::StrCat("threshold/bucket_", b), bucket.threshold, summary);
    }
    if (bucket.target_count > 0) {
      Add(absl::StrCat("selected_over_target/bucket_", b),
          static_cast<double>(bucket.count) /
              static_cast<double>(bucket.target_count),
          summary);
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<TensorBoard>> TensorBoard::Create(
    const TensorBoardOptions& options) {
  PS_ASSIGN_OR_RETURN(
      std::unique_ptr<EventFile> file,
      EventFile::Create(options.run_directory, options.first_step));
  return std::unique_ptr<TensorBoard>(
      new TensorBoard(options, std::move(file)));
}

void TensorBoard::Iteration(const IterationRecord& record) {
  step_ = record.totals.iterations;
  thresholds_.clear();
  for (const CompressionStats& bucket : record.buckets) {
    thresholds_.push_back(bucket.threshold);
  }
  TensorBoardEvent event;
  event.set_step(step_);
  TensorBoardSummary* const summary = event.mutable_summary();
  Add("training/loss", record.training_loss, summary);
  Add("training/learning_rate", record.learning_rate, summary);
  Add("training/samples_per_second", record.totals.samples_per_second, summary);
  Add("bytes/up", static_cast<double>(record.totals.bytes_up), summary);
  Add("bytes/down", static_cast<double>(record.totals.bytes_down), summary);
  AddCompression(record, summary);
  if (record.gradient_norm.has_value()) {
    Add("norm/gradient", *record.gradient_norm, summary);
  }
  if (record.residual_norm.has_value()) {
    Add("norm/residual", *record.residual_norm, summary);
  }
  Add("seconds/compute", record.timings.compute, summary);
  Add("seconds/compress", record.timings.compress, summary);
  Add("seconds/await", record.timings.await, summary);
  Add("seconds/apply", record.timings.apply, summary);
  file_->Write(&event);
}

absl::Status TensorBoard::AddHistogram(const std::string& tag,
                                       const Tensor& values, double threshold,
                                       TensorBoardSummary* summary) {
  host_.resize(values.size());
  PS_RETURN_IF_ERROR(options_.backend->CopyToHost(values, host_.data()));
  TensorBoardValue* const added = summary->add_value();
  added->set_tag(tag);
  *added->mutable_histo() = HistogramOf(host_, threshold);
  return absl::OkStatus();
}

absl::Status TensorBoard::Evaluated(const std::vector<Metric>& metrics,
                                    const Tensor& gradient,
                                    Residuals* residuals) {
  TensorBoardEvent event;
  event.set_step(step_);
  TensorBoardSummary* const summary = event.mutable_summary();
  for (const Metric& metric : metrics) {
    Add(absl::StrCat("test/", metric.name), metric.value, summary);
  }
  for (size_t b = 0; b < options_.buckets.size(); ++b) {
    const Bucket& bucket = options_.buckets[b];
    const double threshold = b < thresholds_.size() ? thresholds_[b] : 0;
    PS_RETURN_IF_ERROR(AddHistogram(absl::StrCat("gradient/bucket_", b),
                                    gradient.Slice(bucket.begin, bucket.end),
                                    threshold, summary));
    PS_RETURN_IF_ERROR(AddHistogram(absl::StrCat("residual/bucket_", b),
                                    *residuals->of(static_cast<int>(b)),
                                    threshold, summary));
  }
  file_->Write(&event);
  return absl::OkStatus();
}

}  // namespace ps
