// Writes the files of a run directory: classes.txt at the beginning,
// metrics.jsonl during the run, and weights.safetensors and summary.json at its
// end.
#ifndef WORKER_RECORDS_RUN_RECORDER_H_
#define WORKER_RECORDS_RUN_RECORDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/metric.h"
#include "compressors/compressor.h"
#include "formats/safetensors.h"
#include "proto/config.pb.h"
#include "tensor/recording.h"
#include "worker/records/best_weights.h"
#include "worker/records/model_values.h"
#include "worker/records/run_totals.h"
#include "worker/timings.h"

namespace ps {

struct RunHeader {
  std::string job;
  std::string model;
  std::string compressor;
  std::string value_code;
  double target_ratio = 0;  // NaN (null in the files) if there is none.
  int num_workers = 0;
  int num_servers = 0;
  int64_t num_parameters = 0;
  int64_t total_iterations = 0;
  int64_t iterations_per_epoch = 0;
  // The classes of the training set; empty if they have no names.
  std::vector<std::string> class_names;
  // The MeaningOfNumbers, for weight files.
  std::string data;
};

// One iteration or, with local steps, the iterations of one push.
struct IterationRecord {
  double epoch = 0;           // Passes over the data, this iteration included.
  double training_loss = 0;   // The mean over all workers.
  double learning_rate = 0;   // The last update's; not written to files.
  double achieved_ratio = 0;  // The ratio of this iteration, over all workers.
  // Statistics of worker 0. The counts are over all buckets; threshold, stages
  // and fallback are those of the first bucket.
  int64_t count = 0;
  int64_t raw_count = 0;
  int64_t target_count = 0;
  // The share of RunTotals, for this iteration.
  std::optional<double> compressed_share;
  double threshold = 0;
  int stages = 0;
  std::string fallback;
  // The Euclidean norm over all buckets; not measured in every iteration.
  std::optional<double> residual_norm;
  // The norm of the gradient or, in delta mode, of the worker's step. Only set
  // if there are observers; not written to files.
  std::optional<double> gradient_norm;
  std::vector<CompressionStats> buckets;  // Worker 0's; not written to files.
  // The mean over worker 0's slices of the number of others' updates between
  // the weights of its gradient and its own update.
  double mean_staleness = 0;
  int64_t max_staleness = 0;
  double seconds = 0;  // Worker 0's time; `timings` has its parts.
  Timings timings;
  int64_t retries = 0;  // The field of ExchangeStats; not written to files.
  RunTotals totals;
};

struct RunSummary {
  RunTotals totals;
  // Those of the last evaluation, the most important one first; empty if there
  // was none, or somebody else evaluates.
  std::vector<Metric> metrics;
  RecordingCounts recordings;  // The recordings of this worker.
  std::string traffic_advice;  // See worker/records/traffic_advice.h.
  // The evaluation of best.safetensors; nullopt if there is no such file.
  std::optional<BestEvaluation> best;
  bool stopped_early = false;  // See training.early_stopping.
};

// Returns what the job says of itself; nothing about its data.
RunHeader HeaderOf(const JobConfig& config, int64_t num_parameters);

// Creates the record of a push. `elements` is the number of elements of all
// workers' gradients together. `totals` include this push. The caller must set
// epoch and residual_norm.
IterationRecord RecordOf(const MadePush& outcome, int64_t elements,
                         const RunTotals& totals);

// The recorder. Not thread-safe.
class RunRecorder {
 public:
  // Creates the directory if necessary, writes the class names, one on each
  // line, to classes.txt, and starts metrics.jsonl, which has one JSON object
  // per line with "event" start, iteration or evaluation. A continue_at above 0
  // keeps that many bytes of an existing file and continues it; one below 0
  // keeps its whole lines. Errors: kFailedPrecondition if there is a
  // classes.txt with other names.
  static absl::StatusOr<std::unique_ptr<RunRecorder>> Create(
      const std::string& directory, const RunHeader& header,
      int64_t continue_at = 0);
  ~RunRecorder();

  // Write a record. If that fails, the log says so, and the file lacks it.
  void Iteration(const IterationRecord& record);
  // The most important metric comes first; there is at least one.
  void Evaluated(int64_t iteration, double epoch,
                 const std::vector<Metric>& metrics);

  // The size of metrics.jsonl.
  int64_t metrics_bytes() const;

  // Writes weights.safetensors, or best.safetensors with those of the best
  // evaluation so far.
  absl::Status WriteWeights(const ModelValues& weights,
                            const ModelValues& statistics);
  absl::Status WriteBestWeights(const ModelValues& weights,
                                const ModelValues& statistics,
                                const BestEvaluation& best);
  absl::Status WriteSummary(const RunSummary& summary);

 private:
  class Stream;

  absl::Status WriteTensors(const std::string& name, const ModelValues& weights,
                            const ModelValues& statistics,
                            SafetensorsMetadata metadata);

  RunRecorder(std::string directory, RunHeader header,
              std::unique_ptr<Stream> metrics);

  const std::string directory_;
  const RunHeader header_;
  const std::unique_ptr<Stream> metrics_;
};

}  // namespace ps

#endif  // WORKER_RECORDS_RUN_RECORDER_H_
