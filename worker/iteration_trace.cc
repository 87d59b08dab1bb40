#include "worker/iteration_trace.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "glog/logging.h"

namespace ps {

absl::Status CheckTraceOptions(int64_t iteration, int64_t num_pushes,
                               bool no_directory) {
  if (iteration < 0 || iteration >= num_pushes) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.trace_iteration is ", iteration,
                     "; must be below the number of pushes, ", num_pushes));
  }
  if (no_directory) {
    return absl::InvalidArgumentError(
        "training.trace_iteration is set and there is no run directory for "
        "trace.json");
  }
  return absl::OkStatus();
}

IterationTrace::IterationTrace(LayerTimes* layers)
    : layers_(layers), begin_(absl::Now()), recorder_(begin_) {
  layers_->Listen([this](const LayerTimes::Span& span) {
    const bool forward = span.direction == LayerTimes::Direction::kForward;
    recorder_.Span(TraceRecorder::Row::kTrainer,
                   absl::StrCat(span.kind, forward ? " forward" : " backward"),
                   span.start, span.end);
  });
}

IterationTrace::~IterationTrace() { layers_->Listen(nullptr); }

void IterationTrace::End(int64_t push, const ExchangeStats& stats) {
  recorder_.Span(TraceRecorder::Row::kTrainer, absl::StrCat("iteration ", push),
                 begin_, absl::Now(),
                 {{"mean_loss", stats.mean_loss},
                  {"sent_elements", stats.sent_elements},
                  {"bytes_up", stats.bytes_up},
                  {"bytes_down", stats.bytes_down}});
  const ExchangePhases& phases = stats.phases;
  recorder_.Note({"communication_us", phases.communication * 1e6});
  recorder_.Note({"await_us", phases.await * 1e6});
  if (phases.communication > 0) {
    recorder_.Note(
        {"hidden_share",
         std::clamp(1 - phases.await / phases.communication, 0.0, 1.0)});
  }
}

absl::Status IterationTrace::Write(const std::string& directory) const {
  const std::string path = absl::StrCat(directory, "/trace.json");
  PS_RETURN_IF_ERROR(
      Annotate(recorder_.Write(path), "training.trace_iteration"));
  LOG(INFO) << "the trace is in " << path
            << "; chrome://tracing and https://ui.perfetto.dev open it";
  return absl::OkStatus();
}

}  // namespace ps
