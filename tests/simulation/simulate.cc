// Runs whole jobs, of the real code, on simulated machines that fail.
#include <poll.h>
#include <sched.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tests/simulation/job.h"
#include "tests/simulation/scheduler.h"

namespace ps::sim {
namespace {

struct Flags {
  std::string seeds;
  int64_t seed = -1;
  std::string kind;
  bool sessions = false;
  bool kill_every_operation = false;
  bool pairs = false;
  int64_t stride = 1;
  bool check_schedule = false;
  bool trace = false;
  bool undisturbed = false;
  bool keep_going = false;
  int jobs = 2;
};

// What a run tells its parent, through a pipe.
std::string Encode(const RunResult& result) {
  std::string text;
  for (const std::string& field :
       {result.failure, result.bits, result.story, absl::StrCat(result.digest),
        absl::StrCat(result.operations),
        absl::StrCat(result.virtual_seconds)}) {
    absl::StrAppend(&text, field.size(), ":", field);
  }
  for (const int64_t operations : result.by_process) {
    const std::string field = absl::StrCat(operations);
    absl::StrAppend(&text, field.size(), ":", field);
  }
  return text;
}

// Empty if the text is cut.
std::vector<std::string> Fields(absl::string_view text) {
  std::vector<std::string> fields;
  while (!text.empty()) {
    const size_t colon = text.find(':');
    size_t size = 0;
    if (colon == text.npos || !absl::SimpleAtoi(text.substr(0, colon), &size) ||
        text.size() - colon - 1 < size) {
      return {};
    }
    fields.emplace_back(text.substr(colon + 1, size));
    text.remove_prefix(colon + 1 + size);
  }
  return fields;
}

class TraceSink final : public google::LogSink {
 public:
  void send(google::LogSeverity severity, const char*, const char*, int,
            const struct ::tm*, const char* message, size_t length) override {
    Trace(absl::StrCat(severity >= google::GLOG_ERROR ? "ERROR: " : "log: ",
                       absl::string_view(message, length)));
  }
};

// Runs a job in a process of its own, which all of its threads end with.
RunResult RunApart(const Job& job, RunOptions options,
                   const std::string& expected_bits) {
  static int count = 0;
  options.run_directory =
      absl::StrCat("/dev/shm/simulate-", getpid(), "-", count++);
  int ends[2];
  PCHECK(pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  PCHECK(child >= 0);
  if (child == 0) {
    close(ends[0]);
    // A simulation that makes no more progress is a finding as well: by its
    // processor time, since others may use the machine; or, if it waits, by
    // the clock.
    itimerval limit = {};
    limit.it_value.tv_sec = options.trace ? 600 : 60;
    PCHECK(setitimer(ITIMER_PROF, &limit, nullptr) == 0);
    alarm(1800);
    TraceSink sink;
    if (options.trace) google::AddLogSink(&sink);
    const std::string text = Encode(RunJob(job, options, expected_bits));
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t n = write(ends[1], text.data() + sent, text.size() - sent);
      if (n <= 0) _exit(1);
      sent += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[65536];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::error_code ignored;
  std::filesystem::remove_all(options.run_directory, ignored);
  RunResult result;
  const std::vector<std::string> fields = Fields(text);
  if (status != 0 || fields.size() < 6) {
    result.failure = absl::StrCat(
        "the simulation itself ended with ",
        WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status))
                            : absl::StrCat("status ", status));
    return result;
  }
  result.failure = fields[0];
  result.bits = fields[1];
  result.story = fields[2];
  result.digest = std::strtoull(fields[3].c_str(), nullptr, 10);
  result.operations = std::strtoll(fields[4].c_str(), nullptr, 10);
  result.virtual_seconds = std::strtod(fields[5].c_str(), nullptr);
  for (size_t i = 6; i < fields.size(); ++i) {
    result.by_process.push_back(std::strtoll(fields[i].c_str(), nullptr, 10));
  }
  return result;
}

// The undisturbed runs of jobs, which many seeds share.
class References {
 public:
  const RunResult& Of(const Job& job) {
    const auto found = results_.find(job.name);
    if (found != results_.end()) return found->second;
    RunOptions options;
    options.seed = job.number;
    const RunResult result = RunApart(job, options, "");
    if (!result.failure.empty()) {
      std::printf("FAILED --seed=%" PRIu64
                  "%s --undisturbed\n  job: %s\n  %s\n",
                  job.number, job.session_pushes > 0 ? " --sessions" : "",
                  job.name.c_str(), result.failure.c_str());
    }
    return results_[job.name] = result;
  }

 private:
  std::map<std::string, RunResult> results_;
};

// How many jobs seeds share, so that few undisturbed ones must be run.
constexpr uint64_t kJobs = 300;

struct Case {
  Job job;
  RunOptions options;
  std::string name;
};

// Returns whether the promises held.
bool RunCase(const Case& one, References* references, bool check_schedule) {
  RunOptions options = one.options;
  const bool disturbed = options.faults || !options.kill_at.empty();
  const RunResult reference = disturbed ? references->Of(one.job) : RunResult();
  if (!reference.failure.empty()) return false;
  options.operations = reference.operations;
  const RunResult result = RunApart(one.job, options, reference.bits);
  std::string failure = result.failure;
  if (failure.empty() && check_schedule) {
    const RunResult again = RunApart(one.job, options, reference.bits);
    if (again.digest != result.digest) {
      failure = "a second run of this seed takes another schedule";
    }
  }
  if (options.trace) {
    std::printf("%s: %" PRId64 " operations, %.3f virtual seconds\n",
                one.name.c_str(), result.operations, result.virtual_seconds);
  }
  if (failure.empty()) return true;
  std::printf("FAILED %s\n  job: %s\n  disturbed: %s\n  %s\n", one.name.c_str(),
              one.job.name.c_str(), result.story.c_str(), failure.c_str());
  std::fflush(stdout);
  return false;
}

Case CaseOfSeed(int64_t seed, const Flags& flags) {
  Case one;
  const uint64_t job = static_cast<uint64_t>(seed) % kJobs;
  one.job = !flags.kind.empty() ? JobOf(flags.kind)
            : flags.sessions    ? DrawSessionJob(job)
                                : DrawJob(job);
  one.options.seed = static_cast<uint64_t>(seed);
  one.options.faults = !flags.undisturbed;
  one.options.trace = flags.trace;
  one.name = absl::StrCat("--seed=", seed, flags.sessions ? " --sessions" : "",
                          flags.kind.empty() ? "" : " --kind=", flags.kind);
  return one;
}

// All kills of one process, or of one and another with it.
std::vector<Case> KillsOf(const std::string& kind, const Flags& flags,
                          References* references) {
  std::vector<Case> cases;
  const Job job = JobOf(kind);
  const std::vector<int64_t> operations = references->Of(job).by_process;
  const int count = static_cast<int>(operations.size());
  for (int victim = 0; victim < count; ++victim) {
    for (int also = flags.pairs ? 0 : -1; also < (flags.pairs ? count : 0);
         ++also) {
      if (also == victim) continue;
      for (int64_t at = 0; at < operations[victim]; at += flags.stride) {
        Case one;
        one.job = job;
        one.options.kill_at[victim] = at;
        one.options.also = also;
        one.name = absl::StrCat(kind, ": kill of process ", victim,
                                also < 0 ? "" : absl::StrCat(" and ", also),
                                " at its operation ", at);
        cases.push_back(one);
        // Other jobs always start it again.
        if (job.session_pushes == 0) continue;
        one.options.starts_again = true;
        absl::StrAppend(&one.name, ", and its start");
        cases.push_back(std::move(one));
      }
    }
  }
  return cases;
}

int Run(const Flags& flags) {
  References references;
  std::vector<Case> cases;
  if (flags.kill_every_operation) {
    for (const std::string& kind : JobKinds()) {
      if (!flags.kind.empty() && kind != flags.kind) continue;
      for (Case& one : KillsOf(kind, flags, &references)) {
        cases.push_back(std::move(one));
      }
    }
  } else if (flags.seed >= 0) {
    cases.push_back(CaseOfSeed(flags.seed, flags));
  } else {
    const std::vector<std::string> range = absl::StrSplit(flags.seeds, '-');
    int64_t first = 0;
    int64_t last = 0;
    if (range.size() != 2 || !absl::SimpleAtoi(range[0], &first) ||
        !absl::SimpleAtoi(range[1], &last) || last < first) {
      std::fprintf(stderr, "simulate: --seeds is %s; must be as in 1-300\n",
                   flags.seeds.c_str());
      return kExitUsage;
    }
    for (int64_t seed = first; seed <= last; ++seed) {
      cases.push_back(CaseOfSeed(seed, flags));
    }
  }
  const absl::Time start = absl::Now();
  const int jobs = std::min<int>(flags.jobs, static_cast<int>(cases.size()));
  std::vector<pid_t> children;
  for (int j = 0; j < jobs; ++j) {
    std::fflush(nullptr);
    const pid_t child = fork();
    PCHECK(child >= 0);
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    // Only one thread of a simulation runs at a time: on one core, the next one
    // need not be woken from another.
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(j % static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), &core);
    sched_setaffinity(0, sizeof(core), &core);
    int64_t failures = 0;
    for (size_t i = j; i < cases.size(); i += jobs) {
      // One in twenty twice.
      const bool twice = flags.check_schedule && i % 20 == 0;
      if (!RunCase(cases[i], &references, twice)) {
        ++failures;
        if (!flags.keep_going) break;
      }
    }
    std::fflush(nullptr);
    _exit(failures > 0 ? 1 : 0);
  }
  bool ok = true;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    ok = ok && status == 0;
  }
  std::printf("%zu cases in %.1f s: %s\n", cases.size(),
              absl::ToDoubleSeconds(absl::Now() - start),
              ok ? "all that is promised held" : "FAILED");
  return ok ? kExitDone : kExitFailed;
}

int Main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  google::InstallFailureSignalHandler();
  Flags flags;
  CommandText text;
  text.program = "simulate";
  text.description =
      "Runs jobs of the real server, worker and recovery code on simulated "
      "machines whose processes are killed, whose connections break and whose "
      "disks forget, and checks what is promised (docs/simulation.md).";
  text.examples = {
      {"simulate --seeds=1-300", "three hundred jobs"},
      {"simulate --seed=17 --trace", "the story of one of them"},
  };
  text.exit_codes = {{"0", "all that is promised held"},
                     {"1", "it did not; the seeds are named"},
                     {"64", "the command line makes no sense"}};
  CommandLine command_line(text);
  command_line.AddOption("seeds", "A-B", "Run these seeds.", &flags.seeds);
  command_line.AddOption("seed", "N", "Run this seed.", &flags.seed);
  command_line.AddOption("kind", "KIND",
                         absl::StrCat("Of job, in place of one that is drawn: ",
                                      absl::StrJoin(JobKinds(), ", "), "."),
                         &flags.kind);
  command_line.AddSwitch("sessions",
                         "Draw jobs whose workers are programs of the user's.",
                         &flags.sessions);
  command_line.AddSwitch("kill-every-operation",
                         "Kill each process at each of its operations (of a "
                         "file, a message, a wait, a thread's start).",
                         &flags.kill_every_operation);
  command_line.AddSwitch("pairs", "Another process is killed with it.",
                         &flags.pairs);
  command_line.AddOption("stride", "N", "Only at each N-th operation.",
                         &flags.stride);
  command_line.AddSwitch("check-schedule",
                         "Run one seed in twenty twice, and compare.",
                         &flags.check_schedule);
  command_line.AddSwitch("trace", "Print what happens.", &flags.trace);
  command_line.AddSwitch("undisturbed", "Nothing fails.", &flags.undisturbed);
  command_line.AddSwitch("keep-going", "Do not end at the first failure.",
                         &flags.keep_going);
  command_line.AddOption("jobs", "N", "Run as many at a time.", &flags.jobs);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  FLAGS_minloglevel = flags.trace ? google::GLOG_INFO : google::GLOG_FATAL;
  FLAGS_stderrthreshold = google::GLOG_FATAL;
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) {
    google::SetLogDestination(severity, "");
  }
  return Run(flags);
}

}  // namespace
}  // namespace ps::sim

int main(int argc, char** argv) { return ps::sim::Main(argc, argv); }
