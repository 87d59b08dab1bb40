#include "tools/checkpoint/change_workers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/consistency.h"
#include "common/stage_workers.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "proto/config.pb.h"
#include "server/slices/slice_state.h"
#include "storage/process_snapshots.h"
#include "storage/snapshot.h"
#include "tools/checkpoint/job_snapshots.h"
#include "worker/records/run_totals.h"
#include "worker/saved_worker.h"
#include "worker/training_plan.h"

namespace ps {
namespace {

// The new folders of all processes, below the checkpoint.directory: while they
// are written; when they are complete, and the old ones are being removed; and
// when they are taking their place.
constexpr char kUnfinished[] = "/other-workers.unfinished";
constexpr char kComplete[] = "/other-workers.complete";
constexpr char kMoving[] = "/other-workers.moving";
// The old ones. A folder that is half removed must not look like a process's.
constexpr char kRemoved[] = "/other-workers.removed";

bool Exists(Files* files, const std::string& folder) {
  return files->List(folder).ok();
}

absl::Status MoveProcesses(Files* files, const std::string& from,
                           const std::string& to) {
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> processes,
                      FindProcesses(files, from));
  PS_RETURN_IF_ERROR(files->MakeFolder(to));
  for (const std::string& process : processes) {
    PS_RETURN_IF_ERROR(files->Rename(absl::StrCat(from, "/", process),
                                     absl::StrCat(to, "/", process)));
  }
  return absl::OkStatus();
}

// Goes on where a call before was interrupted.
absl::Status Complete(Files* files, const std::string& directory) {
  PS_RETURN_IF_ERROR(files->Remove(directory + kUnfinished));
  if (Exists(files, directory + kComplete)) {
    PS_RETURN_IF_ERROR(MoveProcesses(files, directory, directory + kRemoved));
    PS_RETURN_IF_ERROR(
        files->Rename(directory + kComplete, directory + kMoving));
  }
  PS_RETURN_IF_ERROR(files->Remove(directory + kRemoved));
  if (!Exists(files, directory + kMoving)) return absl::OkStatus();
  PS_RETURN_IF_ERROR(MoveProcesses(files, directory + kMoving, directory));
  return files->Remove(directory + kMoving);
}

// Reads and checks every file. Errors: those of ReadPart.
absl::Status CheckWhole(Files* files, const JobSnapshot& snapshot) {
  if (!snapshot.missing.empty()) {
    return absl::NotFoundError(
        absl::StrCat("snapshot ", snapshot.number, " lacks the part of ",
                     absl::StrJoin(snapshot.missing, ", ")));
  }
  for (const ProcessPart& process : snapshot.parts) {
    PS_RETURN_IF_ERROR(process.snapshot.status());
    for (const SnapshotPart& part : process.snapshot->parts) {
      PS_RETURN_IF_ERROR(
          ReadPart(files, *process.snapshot, part.name).status());
    }
  }
  return absl::OkStatus();
}

// The latest that is whole on all processes. What servers have written down
// since is not used, and may be damaged.
absl::StatusOr<JobSnapshot> LatestWhole(Files* files,
                                        const std::string& directory) {
  PS_ASSIGN_OR_RETURN(const std::vector<JobSnapshot> snapshots,
                      FindJobSnapshots(files, directory));
  std::string problems;
  for (auto it = snapshots.rbegin(); it != snapshots.rend(); ++it) {
    const absl::Status whole = CheckWhole(files, *it);
    if (whole.ok()) return *it;
    // Anything else may pass, and is no reason to go back.
    if (!absl::IsDataLoss(whole) && !absl::IsNotFound(whole)) return whole;
    LOG(ERROR) << "snapshot " << it->number
               << " is left out: " << whole.message();
    absl::StrAppend(&problems, "\n  ", whole.message());
  }
  return absl::NotFoundError(
      absl::StrCat("no snapshot in ", directory,
                   " is whole on all servers and workers:", problems));
}

// One snapshot, on its way from N workers to M. Not thread-safe.
class Change {
 public:
  static absl::StatusOr<Change> Plan(Files* files, JobSnapshot snapshot,
                                     int num_workers);

  int from_workers() const { return before_.cluster().num_workers(); }
  int64_t number() const { return push_; }

  // Writes the snapshot to folders of all processes below `directory`.
  absl::Status Write(const std::string& directory) const;

 private:
  Change(Files* files, JobSnapshot snapshot)
      : files_(files), snapshot_(std::move(snapshot)) {}

  int to_workers() const { return after_.cluster().num_workers(); }
  absl::StatusOr<std::string> Read(const std::string& process,
                                   const std::string& part) const;
  absl::StatusOr<std::string> ProgressOf(int worker) const;
  absl::StatusOr<std::string> ResidualsOf(int worker) const;
  // Ends the new form of a process's snapshot.
  absl::Status Commit(const Snapshot& source, SnapshotWriter* writer) const;
  absl::Status WriteServer(const ProcessPart& server,
                           const std::string& directory) const;
  absl::Status WriteWorker(int worker, const std::string& directory) const;

  Files* files_;
  JobSnapshot snapshot_;
  JobConfig before_;
  JobConfig after_;
  int64_t push_ = 0;         // After which the job goes on.
  int64_t iteration_ = 0;    // Likewise.
  int64_t evaluations_ = 0;  // That have been made until then.
};

absl::StatusOr<std::string> Change::Read(const std::string& process,
                                         const std::string& part) const {
  PS_ASSIGN_OR_RETURN(const Snapshot snapshot, PartOf(snapshot_, process));
  return ReadPart(files_, snapshot, part);
}

absl::StatusOr<Change> Change::Plan(Files* files, JobSnapshot snapshot,
                                    int num_workers) {
  Change change(files, std::move(snapshot));
  PS_ASSIGN_OR_RETURN(const Snapshot first,
                      PartOf(change.snapshot_, WorkerProcess(0)));
  PS_ASSIGN_OR_RETURN(change.before_, JobOfNote(first.note));
  change.after_ = change.before_;
  change.after_.mutable_cluster()->set_num_workers(num_workers);
  if (WorkersDrift(change.before_)) {
    return absl::FailedPreconditionError(
        "the number of workers can change only in a job with "
        "consistency.mode SYNCHRONOUS and without step_timeout_seconds: "
        "otherwise each worker has its own place in the training");
  }
  if (change.from_workers() != num_workers &&
      (WorkersHaveStages(change.before_) || WorkersHaveStages(change.after_))) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the number of workers is ", change.from_workers(),
        " and must stay so with a worker for each stage "
        "(training.layer_parallel): each has the auxiliary variables of its "
        "own stage"));
  }
  PS_ASSIGN_OR_RETURN(const std::string bytes,
                      change.Read(WorkerProcess(0), kProgressPart));
  RunTotalsCounter totals(1, 1);
  PS_ASSIGN_OR_RETURN(const SavedProgress progress,
                      LoadProgress(bytes, &totals));
  PS_ASSIGN_OR_RETURN(const TrainingPlan from,
                      PlanTraining(change.before_, progress.set));
  PS_ASSIGN_OR_RETURN(const TrainingPlan to,
                      PlanTraining(change.after_, progress.set));
  if (progress.point.push != change.snapshot_.number ||
      progress.point.push >= from.pushes.num_pushes()) {
    return absl::DataLossError(absl::StrCat(first.folder, "/", kProgressPart,
                                            " is of push ", progress.point.push,
                                            " of ", from.pushes.num_pushes()));
  }
  change.push_ = SamePlace(from, progress.point.push, to);
  change.iteration_ = to.pushes.Begin(change.push_);
  change.evaluations_ = to.pushes.NumEvaluations(change.push_);
  return change;
}

absl::StatusOr<std::string> Change::ProgressOf(int worker) const {
  PS_ASSIGN_OR_RETURN(
      const std::string bytes,
      Read(WorkerProcess(worker % from_workers()), kProgressPart));
  RunTotalsCounter totals(1, 1);
  PS_ASSIGN_OR_RETURN(SavedProgress progress, LoadProgress(bytes, &totals));
  progress.point.push = push_;
  progress.other_residuals = true;
  totals.GoOnAt(iteration_);
  return SaveProgress(progress, totals);
}

absl::StatusOr<std::string> Change::ResidualsOf(int worker) const {
  std::vector<float> residuals;
  if (worker >= from_workers()) {
    PS_ASSIGN_OR_RETURN(
        const std::string bytes,
        Read(WorkerProcess(worker % from_workers()), kResidualsPart));
    PS_ASSIGN_OR_RETURN(residuals, LoadResiduals(bytes));
    std::fill(residuals.begin(), residuals.end(), 0.0F);
    return SaveResiduals(residuals);
  }
  std::vector<double> sums;
  for (int r = worker; r < from_workers(); r += to_workers()) {
    PS_ASSIGN_OR_RETURN(const std::string bytes,
                        Read(WorkerProcess(r), kResidualsPart));
    PS_ASSIGN_OR_RETURN(residuals, LoadResiduals(bytes));
    sums.resize(residuals.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += residuals[i];
  }
  const double share = static_cast<double>(to_workers()) / from_workers();
  for (size_t i = 0; i < sums.size(); ++i) {
    residuals[i] = static_cast<float>(share * sums[i]);
  }
  return SaveResiduals(residuals);
}

absl::Status Change::Commit(const Snapshot& source,
                            SnapshotWriter* writer) const {
  // Not `after_`: workers may not know how many servers there are now.
  PS_ASSIGN_OR_RETURN(JobConfig job, JobOfNote(source.note));
  job.mutable_cluster()->set_num_workers(to_workers());
  return writer->Commit(NoteOf(job, DataOfNote(source.note)));
}

absl::Status Change::WriteServer(const ProcessPart& server,
                                 const std::string& directory) const {
  PS_RETURN_IF_ERROR(server.snapshot.status());
  PS_ASSIGN_OR_RETURN(
      SnapshotWriter writer,
      SnapshotWriter::Create(
          files_, absl::StrCat(directory, "/", server.process), push_));
  for (const SnapshotPart& part : server.snapshot->parts) {
    PS_ASSIGN_OR_RETURN(const std::string bytes,
                        ReadPart(files_, *server.snapshot, part.name));
    const absl::StatusOr<std::string> changed = SliceState::ForWorkers(
        bytes, to_workers(), /*updates=*/push_, /*means=*/evaluations_);
    PS_RETURN_IF_ERROR(
        Annotate(changed.status(),
                 absl::StrCat(server.snapshot->folder, "/", part.name)));
    PS_RETURN_IF_ERROR(writer.Add(part.name, *changed));
  }
  return Commit(*server.snapshot, &writer);
}

absl::Status Change::WriteWorker(int worker,
                                 const std::string& directory) const {
  PS_ASSIGN_OR_RETURN(
      const Snapshot source,
      PartOf(snapshot_, WorkerProcess(worker % from_workers())));
  PS_ASSIGN_OR_RETURN(
      SnapshotWriter writer,
      SnapshotWriter::Create(
          files_, absl::StrCat(directory, "/", WorkerProcess(worker)), push_));
  for (const SnapshotPart& part : source.parts) {
    std::string bytes;
    if (part.name == kProgressPart) {
      PS_ASSIGN_OR_RETURN(bytes, ProgressOf(worker));
    } else if (part.name == kResidualsPart) {
      PS_ASSIGN_OR_RETURN(bytes, ResidualsOf(worker));
    } else {
      PS_ASSIGN_OR_RETURN(bytes, ReadPart(files_, source, part.name));
    }
    PS_RETURN_IF_ERROR(writer.Add(part.name, bytes));
  }
  return Commit(source, &writer);
}

absl::Status Change::Write(const std::string& directory) const {
  for (const ProcessPart& part : snapshot_.parts) {
    if (!NumServersOf(part.process).has_value()) continue;
    PS_RETURN_IF_ERROR(WriteServer(part, directory));
  }
  for (int worker = 0; worker < to_workers(); ++worker) {
    PS_RETURN_IF_ERROR(WriteWorker(worker, directory));
  }
  return absl::OkStatus();
}

}  // namespace

bool HasOtherWorkers(Files* files, const std::string& directory,
                     int num_workers) {
  for (const char* leftover : {kUnfinished, kComplete, kMoving, kRemoved}) {
    if (Exists(files, directory + leftover)) return true;
  }
  const auto snapshots = FindJobSnapshots(files, directory);
  if (!snapshots.ok()) return false;
  for (const JobSnapshot& snapshot : *snapshots) {
    for (const ProcessPart& part : snapshot.parts) {
      if (!part.snapshot.ok()) continue;
      const absl::StatusOr<JobConfig> job = JobOfNote(part.snapshot->note);
      if (job.ok() && job->cluster().num_workers() != num_workers) return true;
    }
  }
  return false;
}

absl::StatusOr<ChangedWorkers> ChangeWorkers(Files* files,
                                             const std::string& directory,
                                             int num_workers) {
  PS_ASSIGN_OR_RETURN(ProcessLocks locks, LockProcesses(files, directory));
  PS_RETURN_IF_ERROR(Complete(files, directory));
  PS_ASSIGN_OR_RETURN(JobSnapshot snapshot, LatestWhole(files, directory));
  ChangedWorkers changed;
  changed.from_number = snapshot.number;
  PS_ASSIGN_OR_RETURN(const Change change,
                      Change::Plan(files, std::move(snapshot), num_workers));
  changed.from_workers = change.from_workers();
  changed.number = change.number();
  if (changed.from_workers == num_workers) return changed;
  const absl::Status written = change.Write(directory + kUnfinished);
  if (!written.ok()) {
    // A disk that is full must not stay so.
    files->Remove(directory + kUnfinished).IgnoreError();
    return written;
  }
  PS_RETURN_IF_ERROR(
      files->Rename(directory + kUnfinished, directory + kComplete));
  // Network file systems keep the folder of a file that is open.
  locks.clear();
  PS_RETURN_IF_ERROR(Complete(files, directory));
  return changed;
}

}  // namespace ps
