#include "tools/checkpoint/job_snapshots.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/config.h"
#include "common/status_macros.h"
#include "server/log/server_log.h"
#include "storage/process_snapshots.h"

namespace ps {
namespace {

// Every process of the job, as a snapshot of one of them names it; none if it
// does not.
std::set<std::string> ProcessesOf(const Snapshot& snapshot, bool with_servers) {
  const absl::StatusOr<JobConfig> job = JobOfNote(snapshot.note);
  std::set<std::string> processes;
  if (!job.ok()) return processes;
  for (int i = 0; with_servers && i < job->cluster().num_servers(); ++i) {
    processes.insert(ServerProcess(i, job->cluster().num_servers()));
  }
  for (int i = 0; i < job->cluster().num_workers(); ++i) {
    processes.insert(WorkerProcess(i));
  }
  return processes;
}

// Not "worker-0.bak".
bool IsProcess(const std::string& folder) {
  absl::string_view rank = folder;
  int number = 0;
  return NumServersOf(folder).has_value() ||
         (absl::ConsumePrefix(&rank, "worker-") &&
          absl::SimpleAtoi(rank, &number) && number >= 0 &&
          folder == WorkerProcess(number));
}

void FindMissing(JobSnapshot* snapshot) {
  // Workers do not notice when the number of servers changes.
  bool has_server = false;
  for (const ProcessPart& part : snapshot->parts) {
    has_server = has_server || NumServersOf(part.process).has_value();
  }
  std::set<std::string> missing;
  for (const ProcessPart& part : snapshot->parts) {
    if (!part.snapshot.ok()) continue;
    const bool server = NumServersOf(part.process).has_value();
    const std::set<std::string> all =
        ProcessesOf(*part.snapshot, server || !has_server);
    missing.insert(all.begin(), all.end());
  }
  for (const ProcessPart& part : snapshot->parts) missing.erase(part.process);
  snapshot->missing.assign(missing.begin(), missing.end());
}

// What a server has written down since the snapshot in this folder.
absl::Status CheckLog(Files* files, const std::string& snapshot_folder,
                      int64_t number) {
  const std::string folder =
      snapshot_folder.substr(0, snapshot_folder.rfind('/'));
  PS_ASSIGN_OR_RETURN(const std::vector<LogSegment> segments,
                      ListLogSegments(files, folder));
  for (const LogSegment& segment : segments) {
    if (segment.number != number || !segment.complete) continue;
    PS_RETURN_IF_ERROR(ReadLog(files, {segment}, number).status());
  }
  return absl::OkStatus();
}

}  // namespace

int64_t ProcessPart::size_bytes() const {
  int64_t size = 0;
  if (!snapshot.ok()) return size;
  for (const SnapshotPart& part : snapshot->parts) size += part.size_bytes;
  return size;
}

absl::StatusOr<std::string> FindCheckpointDirectory(
    Files* files, const std::string& directory) {
  for (const std::string& folder : {directory + "/checkpoints", directory}) {
    const absl::StatusOr<std::vector<std::string>> names = files->List(folder);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      if (!IsProcess(name)) continue;
      const auto numbers =
          ListSnapshots(files, absl::StrCat(folder, "/", name));
      // Not a file with such a name; and 0 is the beginning, and empty.
      if (numbers.ok() && !numbers->empty() && numbers->back() > 0) {
        return folder;
      }
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "there is no snapshot in ", directory,
      "; name a run directory, or a checkpoint.directory, in which a job has "
      "made checkpoint.every pushes"));
}

absl::StatusOr<std::vector<std::string>> FindProcesses(
    Files* files, const std::string& directory) {
  absl::StatusOr<std::vector<std::string>> names = files->List(directory);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  PS_RETURN_IF_ERROR(names.status());
  names->erase(
      std::remove_if(names->begin(), names->end(),
                     [](const std::string& name) { return !IsProcess(name); }),
      names->end());
  return names;
}

absl::StatusOr<ProcessLocks> LockProcesses(Files* files,
                                           const std::string& directory) {
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> processes,
                      FindProcesses(files, directory));
  ProcessLocks locks;
  for (const std::string& process : processes) {
    PS_ASSIGN_OR_RETURN(
        locks.emplace_back(),
        LockProcess(files, absl::StrCat(directory, "/", process)));
  }
  return locks;
}

absl::Status ForgetDoneJob(Files* files, const std::string& directory) {
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> processes,
                      FindProcesses(files, directory));
  for (const std::string& process : processes) {
    PS_RETURN_IF_ERROR(
        ForgetDone(files, absl::StrCat(directory, "/", process)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<JobSnapshot>> FindJobSnapshots(
    Files* files, const std::string& directory) {
  PS_ASSIGN_OR_RETURN(const std::string folder,
                      FindCheckpointDirectory(files, directory));
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                      files->List(folder));
  std::map<int64_t, JobSnapshot> by_number;
  for (const std::string& process : names) {
    if (!IsProcess(process)) continue;
    const std::string own = absl::StrCat(folder, "/", process);
    const absl::StatusOr<std::vector<int64_t>> numbers =
        ListSnapshots(files, own);
    if (!numbers.ok()) continue;
    for (const int64_t number : *numbers) {
      if (number == 0) continue;
      by_number[number].parts.push_back(
          {process, OpenSnapshot(files, own, number)});
    }
  }
  std::vector<JobSnapshot> snapshots;
  for (auto& [number, snapshot] : by_number) {
    snapshot.number = number;
    FindMissing(&snapshot);
    snapshots.push_back(std::move(snapshot));
  }
  return snapshots;
}

absl::StatusOr<JobSnapshot> ChooseJobSnapshot(
    const std::vector<JobSnapshot>& snapshots, int64_t number,
    const std::string& process) {
  std::vector<int64_t> known;
  for (auto snapshot = snapshots.rbegin(); snapshot != snapshots.rend();
       ++snapshot) {
    if (number == snapshot->number ||
        (number < 0 && PartOf(*snapshot, process).ok())) {
      return *snapshot;
    }
    known.push_back(snapshot->number);
  }
  return absl::NotFoundError(absl::StrCat(
      number < 0 ? absl::StrCat("no snapshot has a part of ", process)
                 : absl::StrCat("there is no snapshot ", number),
      "; known are: ", absl::StrJoin(known, ", ")));
}

absl::StatusOr<Snapshot> PartOf(const JobSnapshot& snapshot,
                                const std::string& process) {
  for (const ProcessPart& part : snapshot.parts) {
    if (part.process == process) return part.snapshot;
  }
  return absl::NotFoundError(
      absl::StrCat("snapshot ", snapshot.number, " has no part of ", process));
}

std::vector<std::string> Verify(Files* files, const JobSnapshot& snapshot) {
  std::vector<std::string> problems;
  for (const ProcessPart& process : snapshot.parts) {
    if (!process.snapshot.ok()) {
      problems.emplace_back(process.snapshot.status().message());
      continue;
    }
    for (const SnapshotPart& part : process.snapshot->parts) {
      const absl::Status read =
          ReadPart(files, *process.snapshot, part.name).status();
      if (!read.ok()) problems.emplace_back(read.message());
    }
    const absl::Status log =
        CheckLog(files, process.snapshot->folder, snapshot.number);
    if (!log.ok()) problems.emplace_back(log.message());
  }
  return problems;
}

}  // namespace ps
