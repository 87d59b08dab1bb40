#include "tools/influence/work_force.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/exit_codes.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "tools/process/signals.h"
#include "tools/process/subprocesses.h"

namespace ps {
namespace {

constexpr char kUnit[] = "unit ";
constexpr char kDone[] = "done ";
constexpr char kError[] = "error ";

// A unit that ends its process this often does so because of what it computes.
constexpr int kMostLosses = 3;

// From what a process has written after kError.
absl::Status ReadError(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(' ', 1));
  int code = 0;
  if (!absl::SimpleAtoi(parts.first, &code) || code == 0) {
    return absl::AbortedError(text);
  }
  return absl::Status(static_cast<absl::StatusCode>(code), parts.second);
}

class WorkForce {
 public:
  explicit WorkForce(const WorkForceOptions& options)
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
    UniqueFd units;                // Its input.
    std::optional<int64_t> unit;   // That it works on.
    std::optional<int64_t> group;  // Of its latest unit.
    std::string last_line;         // Of its log.
  };

  absl::Status StartProcess() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return absl::ErrnoToStatus(errno, "cannot make a pipe");
    }
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    PS_ASSIGN_OR_RETURN(
        const int child,
        children_.Start(options_.command, kOwnNetwork, reader.get()));
    processes_[child].units = std::move(writer);
    GiveUnit(&processes_[child]);
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

  void GiveUnit(Process* process) {
    const std::optional<int64_t> unit = NextUnit(*process);
    process->unit = unit;
    if (!unit.has_value()) {
      process->units.Close();
      return;
    }
    waiting_[*unit] = false;
    process->group = options_.groups[*unit];
    const std::string line = absl::StrCat(kUnit, *unit, "\n");
    // If the process has ended, TakeExit finds the unit.
    const ssize_t ignored =
        write(process->units.get(), line.data(), line.size());
    static_cast<void>(ignored);
  }

  void TakeLine(int child, OutputStream stream, absl::string_view line) {
    Process& process = processes_[child];
    int64_t unit = 0;
    if (stream == OutputStream::kStderr) {
      process.last_line = std::string(line);
    } else if (absl::ConsumePrefix(&line, kError)) {
      if (failure_.ok()) failure_ = ReadError(line);
    } else if (absl::ConsumePrefix(&line, kDone) &&
               absl::SimpleAtoi(line, &unit) && process.unit == unit) {
      ++num_done_;
      if (options_.progress) options_.progress(num_done_);
      GiveUnit(&process);
    }
  }

  void TakeExit(int child, const ProcessExit& exit) {
    Process& process = processes_[child];
    process.units.Close();
    if (!process.unit.has_value()) return;
    const int64_t unit = *process.unit;
    const std::string how =
        absl::StrCat("a process ", DescribeExit(exit),
                     process.last_line.empty() ? "" : ": ", process.last_line);
    waiting_[unit] = true;
    process.unit.reset();
    ++num_ended_;
    if (++losses_[unit] >= kMostLosses) {
      if (failure_.ok()) {
        failure_ = absl::AbortedError(
            absl::StrCat(how, "; its unit of work was lost for the ",
                         kMostLosses, "rd time"));
      }
    } else if (options_.lost) {
      options_.lost(absl::StrCat(how, "; its unit of work is done again"));
    }
  }

  const WorkForceOptions options_;
  std::vector<bool> waiting_;  // Units that no process has.
  std::vector<int> losses_;    // Of each unit.
  int64_t num_done_ = 0;
  int64_t num_ended_ = 0;             // Processes to be replaced.
  absl::Status failure_;              // The first one.
  std::map<int, Process> processes_;  // By number of the child.
  Subprocesses children_;  // The last member: its end makes no calls.
};

absl::Status Serve(const std::function<absl::Status(int64_t unit)>& work) {
  std::string line;
  while (std::getline(std::cin, line)) {
    absl::string_view text = line;
    int64_t unit = 0;
    if (!absl::ConsumePrefix(&text, kUnit) || !absl::SimpleAtoi(text, &unit)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", line, "\" is no unit of work"));
    }
    PS_RETURN_IF_ERROR(work(unit));
    std::printf("%s%lld\n", kDone, static_cast<long long>(unit));
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DoAllUnits(const WorkForceOptions& options) {
  return WorkForce(options).Run();
}

int ServeUnits(const std::function<absl::Status(int64_t unit)>& work) {
  const absl::Status status = Serve(work);
  if (status.ok()) return kExitDone;
  std::printf("%s%d %s\n", kError, status.raw_code(),
              absl::StrReplaceAll(status.message(), {{"\n", "; "}}).c_str());
  std::fflush(stdout);
  return kExitFailed;
}

}  // namespace ps
