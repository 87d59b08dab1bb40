// Records one iteration of worker 0 (training.trace_iteration in the config).
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

// Errors: kInvalidArgument if `iteration` is not below the number of pushes, or
// if there is no directory for the file.
absl::Status CheckTraceOptions(int64_t iteration, int64_t num_pushes,
                               bool no_directory);

// The trace of one iteration, which begins with the construction of this
// object; it has a span for each layer. Not thread-safe, except for its
// recorder.
class IterationTrace {
 public:
  // `layers` belongs to the model; it must outlive this object.
  explicit IterationTrace(LayerTimes* layers);
  ~IterationTrace();

  TraceRecorder* recorder() { return &recorder_; }

  // Ends the iteration. Also notes the share of the communication that was
  // hidden behind other work of the worker.
  void End(int64_t push, const ExchangeStats& stats);

  // Writes trace.json and logs its path.
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
