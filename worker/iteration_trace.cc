#include "worker/iteration_trace.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "glog/logging.h"

namespace ps {

absl::StatusOr<std::unique_ptr<IterationTrace>> IterationTrace::Create(
    const IterationTraceOptions& options) {
  const int64_t iteration = options.config->trace_iteration();
  if (options.config->has_trace_iteration()) {
    if (iteration < 0 || iteration >= options.num_pushes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "training.trace_iteration is ", iteration,
          "; must be below the number of pushes, ", options.num_pushes));
    }
    if (options.worker_rank == 0 && options.run_directory.empty()) {
      return absl::InvalidArgumentError(
          "training.trace_iteration is set and there is no run directory for "
          "trace.json");
    }
  }
  return std::unique_ptr<IterationTrace>(new IterationTrace(options));
}

IterationTrace::IterationTrace(const IterationTraceOptions& options)
    : options_(options),
      awaited_(options.config->has_trace_iteration() &&
               options.worker_rank == 0) {}

IterationTrace::~IterationTrace() { options_.layers->Listen(nullptr); }

void IterationTrace::Begin(int64_t push) {
  if (!awaited_ || push < options_.config->trace_iteration()) return;
  awaited_ = false;
  begin_ = SteadyClock()->Now();
  recorder_ = std::make_unique<TraceRecorder>(begin_);
  options_.layers->Listen([this](const LayerTimes::Span& span) {
    const bool forward = span.direction == LayerTimes::Direction::kForward;
    recorder_->Span(TraceRecorder::Row::kTrainer,
                    absl::StrCat(span.kind, forward ? " forward" : " backward"),
                    span.start, span.end);
  });
}

void IterationTrace::End(int64_t push, const ExchangeStats& stats) {
  if (recorder_ == nullptr) return;
  recorder_->Span(TraceRecorder::Row::kTrainer,
                  absl::StrCat("iteration ", push), begin_,
                  SteadyClock()->Now(),
                  {{"mean_loss", stats.mean_loss},
                   {"sent_elements", stats.sent_elements},
                   {"bytes_up", stats.bytes_up},
                   {"bytes_down", stats.bytes_down}});
  const Timings& timings = stats.timings;
  recorder_->Note({"communication_us", timings.communication * 1e6});
  recorder_->Note({"await_us", timings.await * 1e6});
  if (timings.communication > 0) {
    recorder_->Note({"hidden_share", timings.HiddenShare()});
  }
}

absl::Status IterationTrace::Write() {
  if (recorder_ == nullptr) return absl::OkStatus();
  options_.layers->Listen(nullptr);
  const std::unique_ptr<TraceRecorder> recorder = std::move(recorder_);
  const std::string path = absl::StrCat(options_.run_directory, "/trace.json");
  PS_RETURN_IF_ERROR(
      Annotate(recorder->Write(path), "training.trace_iteration"));
  LOG(INFO) << "the trace is in " << path
            << "; chrome://tracing and https://ui.perfetto.dev open it";
  return absl::OkStatus();
}

void IterationTrace::Close() const {
  if (!awaited_) return;
  LOG(WARNING) << "training.trace_iteration is "
               << options_.config->trace_iteration()
               << "; the servers went on without that push and all after it, "
                  "so there is no trace";
}

}  // namespace ps
