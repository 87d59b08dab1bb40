// Records one iteration of worker 0 (training.trace_iteration in the config).
#ifndef WORKER_ITERATION_TRACE_H_
#define WORKER_ITERATION_TRACE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "models/layers/layer_times.h"
#include "proto/training_config.pb.h"
#include "worker/exchange_stats.h"
#include "worker/trace_recorder.h"

namespace ps {

struct IterationTraceOptions {
  const TrainingConfig* config = nullptr;  // Not owned.
  int worker_rank = 0;
  std::string run_directory;  // The directory of trace.json.
  int64_t num_pushes = 0;
  LayerTimes* layers = nullptr;  // Not owned; outlives the trace.
};

// The trace of one iteration, with a span for each layer. All calls do nothing
// if no trace is configured, and on workers other than worker 0. Not
// thread-safe, except for its recorder.
class IterationTrace {
 public:
  // Creates a trace. Errors: kInvalidArgument if the configured iteration is
  // not below the number of pushes, or if there is no directory for the file.
  static absl::StatusOr<std::unique_ptr<IterationTrace>> Create(
      const IterationTraceOptions& options);
  ~IterationTrace();

  // Begins the iterations of one push. Starts the trace at the configured push,
  // or at the next one if the servers continued without that push.
  void Begin(int64_t push);

  // The recorder; null except between Begin and Write of the traced push.
  TraceRecorder* recorder() { return recorder_.get(); }

  // Ends the iteration. Also notes the share of the communication that was
  // hidden behind other work of the worker.
  void End(int64_t push, const ExchangeStats& stats);

  // Writes trace.json and logs its path, if this push was traced.
  absl::Status Write();

  // Ends the run. Logs a warning if the trace never began.
  void Close() const;

 private:
  explicit IterationTrace(const IterationTraceOptions& options);

  const IterationTraceOptions options_;
  bool awaited_;  // Whether the trace is configured and has not begun.
  absl::Time begin_;
  std::unique_ptr<TraceRecorder> recorder_;
};

}  // namespace ps

#endif  // WORKER_ITERATION_TRACE_H_
