#include "tools/checkpoint/blame.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "server/log/server_log.h"
#include "tools/checkpoint/job_snapshots.h"
#include "tools/process/find_program.h"
#include "tools/process/metrics_follower.h"
#include "tools/process/subprocesses.h"
#include "tools/process/temporary_directory.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kPollInterval = absl::Milliseconds(100);
constexpr absl::Duration kGrace = absl::Seconds(30);
constexpr size_t kKeptLines = 10;  // Last lines of a training that failed.

std::string BytesOf(const PayloadPieces& pieces) {
  std::string bytes;
  for (const auto& piece : pieces) bytes.append(piece.begin(), piece.end());
  return bytes;
}

absl::Status CheckKeepsLog(const JobConfig& job) {
  if (job.checkpoint().durability() == CheckpointConfig::EVERY_UPDATE &&
      !WorkersDrift(job)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "this needs a synchronous job with checkpoint.durability EVERY_UPDATE: "
      "otherwise servers do not write down what workers push");
}

absl::StatusOr<JobSnapshot> SnapshotBefore(const std::string& run_directory,
                                           int64_t iteration) {
  PS_ASSIGN_OR_RETURN(const std::vector<JobSnapshot> snapshots,
                      FindJobSnapshots(Files::Real(), run_directory));
  const JobSnapshot* best = nullptr;
  std::vector<int64_t> numbers;
  for (const JobSnapshot& snapshot : snapshots) {
    if (!snapshot.missing.empty()) continue;
    numbers.push_back(snapshot.number);
    if (snapshot.number > iteration) continue;
    if (best == nullptr || snapshot.number > best->number) best = &snapshot;
  }
  if (best != nullptr) return *best;
  return absl::NotFoundError(
      absl::StrCat("no whole snapshot comes before iteration ", iteration,
                   "; iterations can be repeated from these on: ",
                   absl::StrJoin(numbers, ", ")));
}

// The folder of a new run that goes on from this snapshot.
absl::StatusOr<std::string> CopyOf(const std::string& run_directory,
                                   const std::string& checkpoints,
                                   const JobSnapshot& snapshot,
                                   const std::string& directory) {
  const std::string copy = directory + "/run";
  std::error_code error;
  for (const ProcessPart& part : snapshot.parts) {
    const std::string folder =
        absl::StrCat("/", part.process, "/snapshot-", snapshot.number);
    fs::create_directories(absl::StrCat(copy, "/checkpoints/", part.process),
                           error);
    if (!error) {
      fs::copy(checkpoints + folder, copy + "/checkpoints" + folder,
               fs::copy_options::recursive, error);
    }
    if (error) break;
  }
  if (!error) {
    fs::copy(run_directory + "/job.textproto", copy + "/job.textproto", error);
  }
  if (!error) return copy;
  return absl::InternalError(
      absl::StrCat("cannot copy ", run_directory, " to ", copy, ": ",
                   error.message(), "; $TMPDIR names a folder with more room"));
}

// Until all workers have made this iteration, or the training ends.
absl::Status TrainPast(const std::string& run, int64_t iteration) {
  PS_ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  std::deque<std::string> lines;
  ProcessExit end;
  SubprocessCallbacks callbacks;
  callbacks.on_line = [&lines](int, OutputStream, absl::string_view line) {
    if (!line.empty()) lines.emplace_back(line);
    if (lines.size() > kKeptLines) lines.pop_front();
  };
  callbacks.on_exit = [&end](int, const ProcessExit& exit) { end = exit; };
  Subprocesses processes(std::move(callbacks));
  PS_RETURN_IF_ERROR(
      processes
          .Start({program, "train", "--resume", run,
                  "--set=checkpoint.directory=" + run + "/checkpoints",
                  "--set=checkpoint.every=1000000000"})
          .status());
  MetricsFollower metrics(run + "/metrics.jsonl");
  // A worker records an iteration when it has the answers to it, so that each
  // has pushed the one before.
  while (processes.num_running() > 0 &&
         metrics.progress().iteration <= iteration + 1) {
    PS_RETURN_IF_ERROR(processes.Poll(SteadyClock()->Now() + kPollInterval));
    metrics.Poll();
  }
  if (processes.num_running() > 0) return processes.Terminate(kGrace);
  if (end.ok()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the repetition ", DescribeExit(end),
                                          "; it printed:\n    ",
                                          absl::StrJoin(lines, "\n    ")));
}

// By iteration and slice, what each worker has pushed.
using Pushes =
    std::map<int64_t, std::map<std::string, std::map<int, std::string>>>;

absl::StatusOr<Pushes> ReadPushes(const std::string& checkpoints,
                                  int64_t from) {
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> processes,
                      FindProcesses(Files::Real(), checkpoints));
  Pushes pushes;
  for (const std::string& process : processes) {
    PS_ASSIGN_OR_RETURN(
        const std::vector<LogSegment> segments,
        ListLogSegments(Files::Real(), checkpoints + "/" + process));
    if (segments.empty()) continue;  // A worker.
    PS_ASSIGN_OR_RETURN(const LoggedJob logged,
                        ReadLog(Files::Real(), segments, from));
    for (const auto& [slice, history] : logged.slices) {
      for (const auto& [version, update] : history.updates) {
        for (const WorkerPush& push : update.pushes) {
          pushes[push.iteration][slice][push.rank] =
              BytesOf(push.payload.pieces);
        }
      }
    }
  }
  return pushes;
}

}  // namespace

absl::StatusOr<BlameReport> Blame(const std::string& run_directory,
                                  int64_t iteration) {
  PS_ASSIGN_OR_RETURN(const JobConfig job,
                      LoadConfig(run_directory + "/job.textproto"));
  PS_RETURN_IF_ERROR(CheckKeepsLog(job));
  PS_ASSIGN_OR_RETURN(const std::string checkpoints,
                      FindCheckpointDirectory(Files::Real(), run_directory));
  PS_ASSIGN_OR_RETURN(const ProcessLocks locks,
                      LockProcesses(Files::Real(), checkpoints));
  PS_ASSIGN_OR_RETURN(const JobSnapshot snapshot,
                      SnapshotBefore(run_directory, iteration));
  PS_ASSIGN_OR_RETURN(const Pushes recorded,
                      ReadPushes(checkpoints, snapshot.number));
  if (recorded.find(iteration) == recorded.end()) {
    return absl::NotFoundError(absl::StrCat(
        "the servers' logs since snapshot ", snapshot.number,
        recorded.empty()
            ? " are empty"
            : absl::StrCat(" have iterations ", recorded.begin()->first, " to ",
                           recorded.rbegin()->first),
        ", not ", iteration));
  }
  PS_ASSIGN_OR_RETURN(const auto directory, TemporaryDirectory::Create());
  PS_ASSIGN_OR_RETURN(
      const std::string copy,
      CopyOf(run_directory, checkpoints, snapshot, directory->path()));
  PS_RETURN_IF_ERROR(TrainPast(copy, iteration));
  PS_ASSIGN_OR_RETURN(Pushes repeated,
                      ReadPushes(copy + "/checkpoints", snapshot.number));
  BlameReport report;
  report.snapshot = snapshot.number;
  for (const auto& [number, slices] : recorded) {
    if (number > iteration || report.iteration >= 0) break;
    report.num_slices = static_cast<int64_t>(slices.size());
    for (const auto& [slice, workers] : slices) {
      for (const auto& [rank, bytes] : workers) {
        const auto& again = repeated[number][slice];
        const auto found = again.find(rank);
        if (found == again.end()) {
          return absl::DataLossError(
              absl::StrCat("the repetition has no push of worker ", rank,
                           " for ", slice, " in iteration ", number));
        }
        if (found->second == bytes) continue;
        report.iteration = number;
        ++report.differing_slices[rank];
      }
    }
  }
  return report;
}

}  // namespace ps
