#include "tools/process/worker_pool.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "tools/process/requests.h"
#include "tools/process/signals.h"
#include "tools/process/subprocesses.h"

namespace ps {
namespace {

// A unit that ends its process this often does so because of what it computes.
constexpr int kMostLosses = 3;

class WorkerPool {
 public:
  explicit WorkerPool(const WorkerPoolOptions& options)
      : options_(options),
        waiting_(options.groups.size(), true),
        losses_(options.groups.size()),
        children_(SubprocessCallbacks{
            [this](int child, OutputStream stream, absl::string_view line) {
              TakeLine(child, stream, line);
            },
            [this](int child, const ProcessExit& exit) {
              TakeExit(child, exit);
            }}) {}

  absl::Status Run() {
    PS_ASSIGN_OR_RETURN(const std::unique_ptr<Interrupts> interrupts,
                        Interrupts::Create());
    const auto units = static_cast<int64_t>(waiting_.size());
    for (int64_t i = 0; i < std::min(options_.num_processes, units); ++i) {
      PS_RETURN_IF_ERROR(StartProcess());
    }
    while (num_done_ < units) {
      PS_RETURN_IF_ERROR(
          children_.Poll(absl::InfiniteFuture(), interrupts->fd()));
      if (interrupts->Take() > 0) return absl::CancelledError("interrupted");
      PS_RETURN_IF_ERROR(failure_);
      for (; num_ended_ > 0; --num_ended_) {
        if (num_done_ < units) PS_RETURN_IF_ERROR(StartProcess());
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Process {
    std::optional<int64_t> unit;   // That it works on.
    std::optional<int64_t> group;  // Of its latest unit.
    std::string last_line;         // Of its log.
  };

  absl::Status StartProcess() {
    PS_ASSIGN_OR_RETURN(
        const int child,
        children_.Start(options_.command, kOwnNetwork, kLineInput));
    GiveUnit(child);
    return absl::OkStatus();
  }

  // The first unit of the process's group that waits, or else the first of
  // all.
  std::optional<int64_t> NextUnit(const Process& process) const {
    std::optional<int64_t> first;
    for (size_t i = 0; i < waiting_.size(); ++i) {
      if (!waiting_[i]) continue;
      if (!first.has_value()) first = i;
      if (options_.groups[i] == process.group) return i;
    }
    return first;
  }

  void GiveUnit(int child) {
    Process& process = processes_[child];
    process.unit = NextUnit(process);
    if (!process.unit.has_value()) {
      children_.CloseInput(child);
      return;
    }
    waiting_[*process.unit] = false;
    process.group = options_.groups[*process.unit];
    // If the process has ended, TakeExit finds the unit.
    children_.Send(child, absl::StrCat(*process.unit));
  }

  void TakeLine(int child, OutputStream stream, absl::string_view line) {
    Process& process = processes_[child];
    if (stream == OutputStream::kStderr) {
      process.last_line = std::string(line);
      return;
    }
    if (absl::StartsWith(line, "error ")) {
      failure_.Update(ParseAnswer(line).status());
    } else if (process.unit.has_value() &&
               line == FormatAnswer(absl::StrCat(*process.unit))) {
      ++num_done_;
      if (options_.progress) options_.progress(num_done_);
      GiveUnit(child);
    }
  }

  void TakeExit(int child, const ProcessExit& exit) {
    Process& process = processes_[child];
    if (!process.unit.has_value()) return;
    const int64_t unit = *process.unit;
    const std::string how =
        absl::StrCat("a process ", DescribeExit(exit),
                     process.last_line.empty() ? "" : ": ", process.last_line);
    waiting_[unit] = true;
    process.unit.reset();
    ++num_ended_;
    if (++losses_[unit] >= kMostLosses) {
      failure_.Update(absl::AbortedError(
          absl::StrCat(how, "; its unit of work was lost for the ", kMostLosses,
                       "rd time")));
    } else if (options_.lost) {
      options_.lost(absl::StrCat(how, "; its unit of work is done again"));
    }
  }

  const WorkerPoolOptions options_;
  std::vector<bool> waiting_;  // Units that no process has.
  std::vector<int> losses_;    // Of each unit.
  int64_t num_done_ = 0;
  int64_t num_ended_ = 0;             // Processes to be replaced.
  absl::Status failure_;              // The first one.
  std::map<int, Process> processes_;  // By number of the child.
  Subprocesses children_;  // The last member: its end makes no calls.
};

}  // namespace

absl::Status DoAllUnits(const WorkerPoolOptions& options) {
  return WorkerPool(options).Run();
}

}  // namespace ps
