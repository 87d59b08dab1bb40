#include "worker/trace_recorder.h"

#include <algorithm>

#include "common/clock.h"
#include "common/file.h"
#include "common/json.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

// There is one process; thread 0 stands for activities that occupy no thread.
constexpr int kProcess = 1;
constexpr int kUnderWayThread = 0;

Json ArgumentsJson(const TraceArguments& arguments) {
  Json json = Json::object();
  for (const auto& [name, value] : arguments) {
    std::visit([&, &key = name](const auto& typed) { json[key] = typed; },
               value);
  }
  return json;
}

Json NameOfThread(int thread, const char* name) {
  Json json;
  json["ph"] = "M";
  json["name"] = "thread_name";
  json["pid"] = kProcess;
  json["tid"] = thread;
  json["args"]["name"] = name;
  return json;
}

}  // namespace

void TraceRecorder::Add(Event event) {
  MutexLock lock(&mu_);
  events_.push_back(std::move(event));
}

void TraceRecorder::Span(Row row, absl::string_view name, absl::Time start,
                         absl::Time end, TraceArguments arguments) {
  Add({'X', row, std::string(name), start, end, std::move(arguments)});
}

void TraceRecorder::Instant(Row row, absl::string_view name, absl::Time time,
                            TraceArguments arguments) {
  Add({'i', row, std::string(name), time, time, std::move(arguments)});
}

void TraceRecorder::UnderWay(absl::string_view name, absl::Time start,
                             absl::Time end, TraceArguments arguments) {
  Add({'b', Row::kTrainer, std::string(name), start, end,
       std::move(arguments)});
}

void TraceRecorder::Note(const TraceArgument& note) {
  MutexLock lock(&mu_);
  notes_.push_back(note);
}

std::string TraceRecorder::ToJson() const {
  std::vector<Event> events;
  TraceArguments notes;
  {
    MutexLock lock(&mu_);
    events = events_;
    notes = notes_;
  }
  std::stable_sort(
      events.begin(), events.end(), [](const Event& a, const Event& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
      });
  const auto micros = [this](absl::Time time) {
    return absl::ToDoubleMicroseconds(time - begin_);
  };
  Json list = Json::array();
  list.push_back(NameOfThread(static_cast<int>(Row::kTrainer), "trainer"));
  list.push_back(NameOfThread(static_cast<int>(Row::kExchange), "exchange"));
  int64_t id = 0;
  for (const Event& event : events) {
    Json json;
    json["name"] = event.name;
    json["ph"] = std::string(1, event.phase);
    json["pid"] = kProcess;
    json["tid"] =
        event.phase == 'b' ? kUnderWayThread : static_cast<int>(event.row);
    json["ts"] = micros(event.start);
    if (event.phase == 'X') {
      json["dur"] = absl::ToDoubleMicroseconds(event.end - event.start);
    }
    if (event.phase == 'i') json["s"] = "t";
    if (event.phase == 'b') {
      json["cat"] = "slice";
      json["id"] = ++id;
    }
    if (!event.arguments.empty()) json["args"] = ArgumentsJson(event.arguments);
    list.push_back(json);
    if (event.phase != 'b') continue;
    json.erase("args");
    json["ph"] = "e";
    json["ts"] = micros(event.end);
    list.push_back(json);
  }
  Json file;
  file["displayTimeUnit"] = "ms";
  file["otherData"] = ArgumentsJson(notes);
  file["traceEvents"] = std::move(list);
  return JsonText(file, /*indent=*/1) + "\n";
}

absl::Status TraceRecorder::Write(const std::string& path) const {
  return WriteFileAtomically(path, ToJson());
}

TraceSpan::TraceSpan(TraceRecorder* recorder, TraceRecorder::Row row,
                     absl::string_view name)
    : recorder_(recorder), row_(row) {
  if (!on()) return;
  name_ = std::string(name);
  start_ = SteadyClock()->Now();
}

TraceSpan::~TraceSpan() {
  if (!on()) return;
  recorder_->Span(row_, name_, start_, SteadyClock()->Now(),
                  std::move(arguments_));
}

}  // namespace ps
