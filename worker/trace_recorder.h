// What one worker did when, in one iteration, as a file that Chrome's tracing
// page (chrome://tracing) and Perfetto open.
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

// What a span says of itself in the viewer: a name, and a number or a text.
using TraceArgument =
    std::pair<std::string, std::variant<double, int64_t, std::string>>;
using TraceArguments = std::vector<TraceArgument>;

// The trace event format of Chrome ("Trace Event Format", Duvall, Sinclair and
// others, 2016): complete events "X" for what a thread does, instants "i", and
// pairs "b" and "e" for what is under way meanwhile. Times are microseconds
// from `begin`. Thread-safe.
class TraceRecorder {
 public:
  // Threads of the worker.
  enum class Row { kTrainer = 1, kExchange = 2 };

  explicit TraceRecorder(absl::Time begin) : begin_(begin) {}

  // Something that the row's thread did; spans of one row lie apart or within
  // each other.
  void Span(Row row, absl::string_view name, absl::Time start, absl::Time end,
            TraceArguments arguments = {});
  void Instant(Row row, absl::string_view name, absl::Time time,
               TraceArguments arguments = {});
  // Something that no thread waits for; any number may be under way at once.
  void UnderWay(absl::string_view name, absl::Time start, absl::Time end,
                TraceArguments arguments = {});
  // Of the whole file; a name counts once.
  void Note(const TraceArgument& note);

  // The file's text. Events are in order of their beginnings, the longer first.
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

// A span from its construction to its end; nothing at all without a recorder.
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
