// What a run leaves behind in its directory: metrics.jsonl while it goes on,
// then weights.safetensors and summary.json.
#ifndef WORKER_RUN_RECORDER_H_
#define WORKER_RUN_RECORDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/model.h"
#include "worker/evaluation.h"
#include "worker/exchange_phases.h"
#include "worker/run_totals.h"

namespace ps {

struct RunHeader {
  std::string job;
  std::string model;
  std::string compressor;
  std::string value_code;
  double target_ratio = 0;  // NaN (null in the files): it has none.
  int num_workers = 0;
  int num_servers = 0;
  int64_t num_parameters = 0;
  int64_t total_iterations = 0;
  int64_t iterations_per_epoch = 0;
};

// One iteration; with local steps those of one push.
struct IterationRecord {
  double epoch = 0;  // Passes over the data so far, this iteration included.
  double training_loss = 0;   // Mean over all workers.
  double achieved_ratio = 0;  // Of this iteration, over all workers.
  // Worker 0's: counts over all buckets, the others of the first.
  int64_t count = 0;
  int64_t raw_count = 0;
  int64_t target_count = 0;
  std::optional<double>
      compressed_share;  // As in RunTotals, of this iteration.
  double threshold = 0;
  int stages = 0;
  std::string fallback;
  // Euclidean, over all buckets; not measured in every iteration.
  std::optional<double> residual_norm;
  // Worker 0's, over its slices: updates of others between the weights of its
  // gradient and its own update.
  double mean_staleness = 0;
  int64_t max_staleness = 0;
  // Worker 0's: of the whole iteration, and of the exchange within it.
  double seconds = 0;
  ExchangePhases exchange;
  RunTotals totals;
};

// Not thread-safe.
class RunRecorder {
 public:
  // Makes the directory if need be, and begins metrics.jsonl: one JSON object
  // a line with "event" start, iteration or evaluation.
  static absl::StatusOr<std::unique_ptr<RunRecorder>> Create(
      const std::string& directory, const RunHeader& header);
  ~RunRecorder();

  absl::Status Iteration(const IterationRecord& record);
  absl::Status Evaluated(int64_t iteration, double epoch,
                         const Evaluation& evaluation);

  // Of a model's weights and of its statistics: where each tensor is, in
  // values, host memory.
  struct Values {
    const std::vector<ParameterInfo>* infos = nullptr;
    const float* values = nullptr;
  };
  absl::Status WriteWeights(const Values& weights, const Values& statistics);
  absl::Status WriteSummary(const RunTotals& totals,
                            const Evaluation& evaluation);

 private:
  class Stream;

  RunRecorder(std::string directory, RunHeader header,
              std::unique_ptr<Stream> metrics);

  const std::string directory_;
  const RunHeader header_;
  const std::unique_ptr<Stream> metrics_;
};

}  // namespace ps

#endif  // WORKER_RUN_RECORDER_H_
