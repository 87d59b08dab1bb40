// The records of a run.
#ifndef TOOLS_REPORT_RUN_RECORDS_H_
#define TOOLS_REPORT_RUN_RECORDS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace ps {

// One line of metrics.jsonl. Numbers that the file does not have, or has as
// null (they were not finite), are NaN.
struct IterationRow {
  double iteration = 0;  // From 1.
  double training_loss = 0;
  double count = 0;  // Elements sent by worker 0.
  double target_count = 0;
  double stages = 0;
  std::optional<double> residual_norm;  // None: not measured.
  double achieved_ratio = 0;            // In this iteration, all workers.
  // Compressor "auto": the share of worker 0's elements in compressed buckets.
  std::optional<double> compressed_share;
  // Seconds of each phase of this iteration, in the file's order.
  std::vector<std::pair<std::string, double>> phases;
  // Since the start.
  double seconds = 0;   // Training time.
  double samples = 0;   // Training examples, all workers.
  double bytes_up = 0;  // All workers.
  double bytes_down = 0;
};

struct EvaluationRow {
  double iteration = 0;
  double value = 0;  // Value of RunRecords::metric.
  // Since the start, at the last iteration before it.
  double seconds = 0;
  double bytes = 0;  // Up and down, all workers.
  double loss = std::numeric_limits<double>::quiet_NaN();  // On the test set.
};

struct RunRecords {
  std::string directory;  // As it was named.
  std::string job;
  std::string model;
  std::string compressor;
  std::string value_code;
  double target_ratio = 0;  // NaN: the compressor has none.
  double num_workers = 0;
  double num_servers = 0;
  double num_parameters = 0;
  double total_iterations = 0;  // As planned.
  // What its evaluations measure: "test_accuracy", "test_perplexity".
  std::string metric = "test_accuracy";

  std::vector<IterationRow> iterations;
  std::vector<EvaluationRow> evaluations;
  // Values at the last iteration, since the start; NaN before the first.
  double seconds = 0;
  double samples_per_second = 0;
  double achieved_ratio = 0;  // Elements sent over elements, all workers.
  // Compressor "auto": mean over the iterations; NaN for others.
  double compressed_share = std::numeric_limits<double>::quiet_NaN();
  double bytes_up = 0;
  double bytes_down = 0;
  double dense_bytes_up = 0;
  double dense_bytes_down = 0;
};

// Reads DIRECTORY/metrics.jsonl, also of a run that is still running or has
// failed: an incomplete last line is ignored. Errors: those of ReadFile, with
// what to do about it; kDataLoss naming the damaged line.
absl::StatusOr<RunRecords> ReadRunRecords(const std::string& directory);

// Replaces the recorded times by those of iterations that take this long, for
// example on another network.
void SetIterationSeconds(double seconds, RunRecords* run);

// How close a run came to its target ratio after the iterations in which the
// number of stages settles. All zero for a run without a target.
struct RatioQuality {
  int64_t iterations = 0;      // Number that count; if 0, so are the others.
  double mean = 0;             // Mean of achieved over target.
  double share_within_20 = 0;  // Iterations within 20 % of the target.
};
constexpr int kSettlingIterations = 20;
RatioQuality MeasureRatioQuality(const RunRecords& run);

}  // namespace ps

#endif  // TOOLS_REPORT_RUN_RECORDS_H_
