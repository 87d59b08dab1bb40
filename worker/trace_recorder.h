// Records the activities of one worker in one iteration, for a file that
// Chrome's tracing page (chrome://tracing) and Perfetto can open.
#ifndef WORKER_TRACE_RECORDER_H_
#define WORKER_TRACE_RECORDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace ps {

// A detail of an event that the viewer shows: a name with a number or a text.
using TraceArgument =
    std::pair<std::string, std::variant<double, int64_t, std::string>>;
using TraceArguments = std::vector<TraceArgument>;

// The recorder. Writes Chrome's trace event format ("Trace Event Format",
// Duvall, Sinclair and others, 2016): complete events "X" for the activities of
// a thread, instants "i", and pairs "b" and "e" for asynchronous activities.
// Times are microseconds from `begin`. Thread-safe.
class TraceRecorder {
 public:
  // The threads of the worker.
  enum class Row { kTrainer = 1, kExchange = 2 };

  explicit TraceRecorder(absl::Time begin) : begin_(begin) {}

  // Adds an activity of the row's thread. Spans of one row must be disjoint or
  // nested.
  void Span(Row row, absl::string_view name, absl::Time start, absl::Time end,
            TraceArguments arguments = {});
  void Instant(Row row, absl::string_view name, absl::Time time,
               TraceArguments arguments = {});
  // Adds an activity that occupies no thread; any number may overlap.
  void UnderWay(absl::string_view name, absl::Time start, absl::Time end,
                TraceArguments arguments = {});
  // Adds a note about the whole file. If a name is repeated, the last value is
  // kept.
  void Note(const TraceArgument& note);

  // Returns the file's text. Events are ordered by start time; of those that
  // start together, the longer comes first.
  std::string ToJson() const;
  absl::Status Write(const std::string& path) const;

 private:
  struct Event {
    char phase;  // 'X', 'i', or 'b' for a pair.
    Row row;
    std::string name;
    absl::Time start;
    absl::Time end;
    TraceArguments arguments;
  };

  void Add(Event event);

  const absl::Time begin_;
  mutable Mutex mu_;
  std::vector<Event> events_ ABSL_GUARDED_BY(mu_);
  TraceArguments notes_ ABSL_GUARDED_BY(mu_);
};

// Records a span from its construction to its destruction; does nothing without
// a recorder.
class TraceSpan {
 public:
  TraceSpan(TraceRecorder* recorder, TraceRecorder::Row row,
            absl::string_view name);
  ~TraceSpan();
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  bool on() const { return recorder_ != nullptr; }
  void Add(TraceArgument argument) {
    if (on()) arguments_.push_back(std::move(argument));
  }

 private:
  TraceRecorder* const recorder_;  // Not owned; may be null.
  const TraceRecorder::Row row_;
  std::string name_;
  absl::Time start_;
  TraceArguments arguments_;
};

}  // namespace ps

#endif  // WORKER_TRACE_RECORDER_H_
