// A job's option to see one iteration of worker 0 (config.proto,
// training.trace_iteration).
#ifndef WORKER_ITERATION_TRACE_H_
#define WORKER_ITERATION_TRACE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "models/layers/layer_times.h"
#include "worker/exchange_stats.h"
#include "worker/trace_recorder.h"

namespace ps {

// Errors: kInvalidArgument unless `iteration` is below the number of pushes,
// and there is a directory for the file.
absl::Status CheckTraceOptions(int64_t iteration, int64_t num_pushes,
                               bool no_directory);

// From its construction on, the trace of one iteration, with a span for each
// layer. Not thread-safe, but for its recorder.
class IterationTrace {
 public:
  // `layers`: the model's. Not owned; outlives this.
  explicit IterationTrace(LayerTimes* layers);
  ~IterationTrace();

  TraceRecorder* recorder() { return &recorder_; }

  // The iteration is over. Of the exchange: the share of the communication
  // during which the worker did something else.
  void End(int64_t push, const ExchangeStats& stats);

  // Writes trace.json, and logs where it is.
  absl::Status Write(const std::string& directory) const;

 private:
  LayerTimes* const layers_;
  const absl::Time begin_;
  TraceRecorder recorder_;
};

// The recorder of a trace that may be null.
inline TraceRecorder* TraceOf(const std::unique_ptr<IterationTrace>& trace) {
  return trace == nullptr ? nullptr : trace->recorder();
}

}  // namespace ps

#endif  // WORKER_ITERATION_TRACE_H_
