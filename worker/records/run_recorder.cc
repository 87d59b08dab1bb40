#include "worker/records/run_recorder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "formats/safetensors.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

Json ToJson(const RunTotals& totals) {
  Json json;
  json["iterations"] = totals.iterations;
  json["seconds"] = totals.seconds;
  json["samples_per_second"] = totals.samples_per_second;
  json["achieved_ratio"] = totals.achieved_ratio;
  if (totals.compressed_share.has_value()) {
    json["compressed_share"] = *totals.compressed_share;
  }
  json["bytes_up"] = totals.bytes_up;
  json["bytes_down"] = totals.bytes_down;
  json["dense_bytes_up"] = totals.dense_bytes_up;
  json["dense_bytes_down"] = totals.dense_bytes_down;
  json["dropped"] = totals.dropped;
  return json;
}

// Adds the metrics; "metric" names the most important one.
void AddMetrics(const std::vector<Metric>& metrics, Json* json) {
  (*json)["metric"] = absl::StrCat("test_", metrics.front().name);
  for (const Metric& metric : metrics) {
    (*json)[absl::StrCat("test_", metric.name)] = metric.value;
  }
}

absl::Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return absl::ErrnoToStatus(
        error.value(), absl::StrCat("cannot make the run directory ", path));
  }
  return absl::OkStatus();
}

// Writes the class names, but never over those of another job, to which the
// existing weights belong.
absl::Status WriteClassNames(const std::string& path,
                             const std::vector<std::string>& names) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  if (!text.ok() && names.empty()) return absl::OkStatus();
  if (!text.ok()) {
    return WriteFileAtomically(path,
                               absl::StrCat(absl::StrJoin(names, "\n"), "\n"));
  }
  std::vector<std::string> before =
      absl::StrSplit(absl::StripSuffix(*text, "\n"), '\n');
  if (before == names) return absl::OkStatus();
  const size_t number =
      std::mismatch(before.begin(), before.end(), names.begin(), names.end())
          .first -
      before.begin();
  const auto name = [number](const std::vector<std::string>& all) {
    return number < all.size() ? absl::StrCat("\"", all[number], "\"")
                               : "not there";
  };
  return absl::FailedPreconditionError(
      absl::StrCat("class ", number, " is ", name(before), " in ", path,
                   ", and ", name(names),
                   " in the data; give the run a directory of its own, or "
                   "bring back the data"));
}

// Returns the size of the whole lines; 0 if the file cannot be read.
int64_t SizeOfWholeLines(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return 0;
  return static_cast<int64_t>(text->rfind('\n') + 1);
}

}  // namespace

RunHeader HeaderOf(const JobConfig& config, int64_t num_parameters) {
  RunHeader header;
  header.job = config.name();
  header.model = config.model().name();
  header.compressor = config.compressor().name();
  header.value_code = config.compressor().value_code();
  header.target_ratio = FindCompressor(header.compressor).has_target_ratio
                            ? config.compressor().ratio()
                            : std::numeric_limits<double>::quiet_NaN();
  header.num_workers = config.cluster().num_workers();
  header.num_servers = config.cluster().num_servers();
  header.num_parameters = num_parameters;
  header.total_iterations = config.training().max_iterations();
  return header;
}

IterationRecord RecordOf(const MadePush& outcome, int64_t elements,
                         const RunTotals& totals) {
  const ExchangeStats& stats = outcome.stats;
  IterationRecord record;
  record.training_loss = stats.mean_loss;
  record.achieved_ratio =
      static_cast<double>(stats.sent_elements) / static_cast<double>(elements);
  for (const CompressionStats& bucket : stats.compression) {
    record.count += bucket.count;
    record.raw_count += bucket.raw_count;
    record.target_count += bucket.target_count;
  }
  record.buckets = stats.compression;
  record.compressed_share = stats.compressed_share;
  record.threshold = stats.compression.front().threshold;
  record.stages = stats.compression.front().stages;
  record.fallback = stats.compression.front().fallback;
  record.mean_staleness = stats.mean_staleness;
  record.max_staleness = stats.max_staleness;
  record.seconds = outcome.seconds;
  record.timings = stats.timings;
  record.timings.compute = outcome.seconds - record.timings.iteration();
  record.retries = stats.retries;
  record.totals = totals;
  return record;
}

// A file that grows line by line; a reader that follows it sees whole lines.
class RunRecorder::Stream {
 public:
  // Continues after the file's first `size` bytes, which are whole lines.
  static absl::StatusOr<std::unique_ptr<Stream>> Open(const std::string& path,
                                                      int64_t size) {
    bool ok = size > 0 || std::ofstream(path).is_open();
    std::unique_ptr<Stream> stream(new Stream(path, size));
    ok = ok && stream->out_.is_open();
    if (!ok) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
    }
    return stream;
  }

  int64_t size_bytes() const { return size_; }

  // Writes a line. If that fails, the log says so, and the file lacks it.
  void Write(const Json& json) {
    const std::string line = JsonText(json, /*indent=*/-1) + "\n";
    out_ << line << std::flush;
    if (out_) {
      size_ += static_cast<int64_t>(line.size());
      failing_ = false;
      return;
    }
    if (!failing_) {
      LOG(ERROR) << absl::ErrnoToStatus(errno,
                                        absl::StrCat("cannot write ", path_))
                        .message()
                 << "; training goes on without these records";
    }
    failing_ = true;
    // A part of the line may have been written, and the stream keeps it.
    out_.close();
    std::error_code ignored;
    std::filesystem::resize_file(path_, size_, ignored);
    out_.clear();
    out_.open(path_, std::ios::app);
  }

 private:
  Stream(const std::string& path, int64_t size)
      : path_(path),
        // Appending keeps the position right after a failure.
        out_(path, std::ios::app),
        size_(size) {}

  const std::string path_;
  std::ofstream out_;
  int64_t size_;
  bool failing_ = false;
};

RunRecorder::RunRecorder(std::string directory, RunHeader header,
                         std::unique_ptr<Stream> metrics)
    : directory_(std::move(directory)),
      header_(std::move(header)),
      metrics_(std::move(metrics)) {}

RunRecorder::~RunRecorder() = default;

absl::StatusOr<std::unique_ptr<RunRecorder>> RunRecorder::Create(
    const std::string& directory, const RunHeader& header,
    int64_t continue_at) {
  PS_RETURN_IF_ERROR(MakeDirectory(directory));
  PS_RETURN_IF_ERROR(
      WriteClassNames(directory + "/classes.txt", header.class_names));
  std::error_code error;
  const std::string path = absl::StrCat(directory, "/metrics.jsonl");
  if (continue_at < 0) continue_at = SizeOfWholeLines(path);
  if (continue_at > 0) {
    const int64_t size =
        static_cast<int64_t>(std::filesystem::file_size(path, error));
    if (error || size < continue_at) {
      LOG(WARNING) << path << " lacks what was recorded before the snapshot; "
                   << "it begins anew";
      continue_at = 0;
    } else {
      std::filesystem::resize_file(path, continue_at, error);
      if (error) {
        return absl::ErrnoToStatus(error.value(),
                                   absl::StrCat("cannot continue ", path));
      }
    }
  }
  PS_ASSIGN_OR_RETURN(std::unique_ptr<Stream> metrics,
                      Stream::Open(path, continue_at));
  auto recorder = std::unique_ptr<RunRecorder>(
      new RunRecorder(directory, header, std::move(metrics)));
  if (continue_at > 0) return recorder;
  Json json;
  json["event"] = "start";
  json["job"] = header.job;
  json["model"] = header.model;
  json["compressor"] = header.compressor;
  json["value_code"] = header.value_code;
  json["target_ratio"] = header.target_ratio;
  json["num_workers"] = header.num_workers;
  json["num_servers"] = header.num_servers;
  json["num_parameters"] = header.num_parameters;
  json["total_iterations"] = header.total_iterations;
  json["iterations_per_epoch"] = header.iterations_per_epoch;
  recorder->metrics_->Write(json);
  return recorder;
}

void RunRecorder::Iteration(const IterationRecord& record) {
  Json json;
  json["event"] = "iteration";
  json["iteration"] = record.totals.iterations;
  json["epoch"] = record.epoch;
  json["training_loss"] = record.training_loss;
  json["iteration_achieved_ratio"] = record.achieved_ratio;
  json["count"] = record.count;
  json["raw_count"] = record.raw_count;
  json["target_count"] = record.target_count;
  if (record.compressed_share.has_value()) {
    json["iteration_compressed_share"] = *record.compressed_share;
  }
  json["threshold"] = record.threshold;
  json["stages"] = record.stages;
  json["fallback"] = record.fallback;
  if (record.residual_norm.has_value()) {
    json["residual_norm"] = *record.residual_norm;
  }
  json["mean_staleness"] = record.mean_staleness;
  json["max_staleness"] = record.max_staleness;
  ForEachTiming(record.timings, [&json](const char* name, double seconds) {
    json["phases"][name] = seconds;
  });
  Json totals = ToJson(record.totals);
  totals.erase("iterations");
  json.update(totals);
  metrics_->Write(json);
}

void RunRecorder::Evaluated(int64_t iteration, double epoch,
                            const std::vector<Metric>& metrics) {
  Json json;
  json["event"] = "evaluation";
  json["iteration"] = iteration;
  json["epoch"] = epoch;
  AddMetrics(metrics, &json);
  metrics_->Write(json);
}

int64_t RunRecorder::metrics_bytes() const { return metrics_->size_bytes(); }

absl::Status RunRecorder::WriteTensors(const std::string& name,
                                       const ModelValues& weights,
                                       const ModelValues& statistics,
                                       SafetensorsMetadata metadata) {
  metadata.merge(MetadataOf(header_.model, header_.data));
  // The directory may have been deleted during training.
  PS_RETURN_IF_ERROR(MakeDirectory(directory_));
  return WriteSafetensors(absl::StrCat(directory_, "/", name),
                          ViewsOf({weights, statistics}), metadata);
}

absl::Status RunRecorder::WriteWeights(const ModelValues& weights,
                                       const ModelValues& statistics) {
  return WriteTensors("weights.safetensors", weights, statistics, {});
}

absl::Status RunRecorder::WriteBestWeights(const ModelValues& weights,
                                           const ModelValues& statistics,
                                           const BestEvaluation& best) {
  return WriteTensors(kBestWeights, weights, statistics, MetadataOf(best));
}

absl::Status RunRecorder::WriteSummary(const RunSummary& summary) {
  Json json;
  json["job"] = header_.job;
  json["model"] = header_.model;
  json["compressor"] = header_.compressor;
  json["value_code"] = header_.value_code;
  json["target_ratio"] = header_.target_ratio;
  json["num_workers"] = header_.num_workers;
  json["num_servers"] = header_.num_servers;
  json["num_parameters"] = header_.num_parameters;
  if (!summary.metrics.empty()) AddMetrics(summary.metrics, &json);
  json.update(ToJson(summary.totals));
  json["stopped_early"] = summary.stopped_early;
  if (summary.best.has_value()) {
    const BestEvaluation& best = *summary.best;
    Json& about_best = json["best"];
    about_best["iteration"] = best.iteration;
    about_best["epoch"] = static_cast<double>(best.iteration) /
                          static_cast<double>(header_.iterations_per_epoch);
    about_best[absl::StrCat("test_", best.metric.name)] = best.metric.value;
  }
  json["cuda_graphs"] = {{"recorded", summary.recordings.recorded},
                         {"failed", summary.recordings.failed}};
  if (!summary.traffic_advice.empty()) {
    json["traffic_advice"] = summary.traffic_advice;
  }
  return WriteFileAtomically(absl::StrCat(directory_, "/summary.json"),
                             JsonText(json) + "\n");
}

}  // namespace ps
