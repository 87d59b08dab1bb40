#include "storage/process_snapshots.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/data_description.h"
#include "common/json.h"
#include "common/schedule.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"
#include "storage/snapshot.h"

namespace ps {
namespace {

constexpr char kConfig[] = "config";
constexpr char kData[] = "data";
// The name of a file that marks the job as done.
constexpr char kDone[] = "done";

// Returns the shared config without `checkpoint`, which changes no result.
std::string ComparedText(JobConfig config) {
  config.clear_checkpoint();
  return SharedConfigText(config);
}

// Returns a text that Write put into the note; empty if there is none.
std::string TextOf(const std::string& note, const char* name) {
  const Json json = ParseJson(note);
  const auto text = json.find(name);
  if (text == json.end() || !text->is_string()) return "";
  return text->get<std::string>();
}

}  // namespace

absl::StatusOr<JobConfig> JobOfNote(const std::string& note) {
  return ParseConfig(TextOf(note, kConfig), "the job of a snapshot");
}

std::string DataOfNote(const std::string& note) { return TextOf(note, kData); }

std::string NoteOf(const JobConfig& job, const std::string& data_text) {
  Json note;
  note[kConfig] = ComparedText(job);
  if (!data_text.empty()) note[kData] = data_text;
  return JsonText(note);
}

absl::Status CheckSameData(const std::string& note,
                           const std::string& data_text,
                           const std::string& where) {
  const std::string there = DataOfNote(note);
  if (there.empty() || there == data_text) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(where,
                   " was made with other data (there: the snapshot, here: "
                   "data.directory): ",
                   DescribeDataDifference(data_text, there),
                   ". Bring back the data, or begin a new run"));
}

std::string ServerProcess(int index, int num_servers) {
  return absl::StrCat("server-", index, "-of-", num_servers);
}

std::string WorkerProcess(int rank) { return absl::StrCat("worker-", rank); }

std::optional<int> NumServersOf(absl::string_view process) {
  const std::vector<absl::string_view> words = absl::StrSplit(process, '-');
  int index = 0;
  int num_servers = 0;
  constexpr int kMaxServers = 256;  // cluster.num_servers
  if (words.size() != 4 || !absl::SimpleAtoi(words[1], &index) ||
      !absl::SimpleAtoi(words[3], &num_servers) || index < 0 ||
      index >= num_servers || num_servers > kMaxServers ||
      process != ServerProcess(index, num_servers)) {
    return std::nullopt;
  }
  return num_servers;
}

absl::StatusOr<std::unique_ptr<FileLock>> LockProcess(
    Files* files, const std::string& folder) {
  absl::StatusOr<std::unique_ptr<FileLock>> lock =
      files->Lock(folder + "/lock");
  if (absl::IsUnavailable(lock.status())) {
    return absl::UnavailableError(
        absl::StrCat(lock.status().message(),
                     ": two processes must not keep "
                     "their snapshots in the same folder; end the other one"));
  }
  if (!absl::IsUnimplemented(lock.status())) return lock;
  LOG(WARNING) << lock.status().message()
               << "; make sure that no other process uses this folder";
  return std::unique_ptr<FileLock>();
}

absl::Status ForgetDone(Files* files, const std::string& folder) {
  return files->Remove(absl::StrCat(folder, "/", kDone));
}

ProcessSnapshots::ProcessSnapshots(const ProcessSnapshotsOptions& options)
    : files_(options.files),
      folder_(absl::StrCat(options.config->checkpoint().directory(), "/",
                           options.process)),
      job_(*options.config),
      data_text_(options.data_text),
      any_num_servers_(options.any_num_servers),
      written_(options.written),
      keep_last_(options.config->checkpoint().keep_last()) {}

ProcessSnapshots::~ProcessSnapshots() { Flush().IgnoreError(); }

absl::StatusOr<std::unique_ptr<ProcessSnapshots>> ProcessSnapshots::Open(
    const ProcessSnapshotsOptions& options) {
  std::unique_ptr<ProcessSnapshots> snapshots(new ProcessSnapshots(options));
  // An error should come now rather than when the first snapshot is due.
  PS_RETURN_IF_ERROR(Annotate(options.files->MakeFolder(snapshots->folder_),
                              "cannot keep snapshots (checkpoint.directory)"));
  PS_ASSIGN_OR_RETURN(snapshots->lock_,
                      LockProcess(options.files, snapshots->folder_));
  PS_RETURN_IF_ERROR(snapshots->Find());
  return snapshots;
}

absl::Status ProcessSnapshots::Find() {
  PS_ASSIGN_OR_RETURN(const std::vector<int64_t> all,
                      ListSnapshots(files_, folder_));
  // The loop starts with the latest.
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    const int64_t number = *each;
    const absl::StatusOr<Snapshot> snapshot =
        OpenSnapshot(files_, folder_, number);
    absl::Status whole = snapshot.status();
    if (whole.ok()) {
      PS_RETURN_IF_ERROR(CheckNote(number, snapshot->note));
      whole = VerifySnapshot(files_, folder_, number);
    }
    if (whole.ok()) {
      numbers_.insert(numbers_.begin(), number);
      continue;
    }
    // Any other error may be temporary, and is no reason to fall back; but it
    // can be ignored if a later snapshot is whole.
    const bool damaged = absl::IsDataLoss(whole) || absl::IsNotFound(whole);
    if (!damaged && numbers_.empty()) return whole;
    damaged_.insert(damaged_.begin(), number);
    LOG(ERROR) << "snapshot " << number << " is not used: " << whole.message();
  }
  // A damaged snapshot was saved later than the beginning.
  if (!damaged_.empty() && !numbers_.empty() && numbers_.back() == 0) {
    numbers_.clear();
  }
  const absl::Status done =
      files_->Read(absl::StrCat(folder_, "/", kDone)).status();
  if (!done.ok() && !absl::IsNotFound(done)) return done;
  done_ = done.ok();
  MutexLock lock(&mu_);
  whole_.insert(numbers_.begin(), numbers_.end());
  return absl::OkStatus();
}

absl::Status ProcessSnapshots::MarkDone() {
  const std::string path = absl::StrCat(folder_, "/", kDone);
  const std::string unfinished = absl::StrCat(path, ".unfinished");
  if (files_->Read(path).ok()) return absl::OkStatus();
  PS_RETURN_IF_ERROR(files_->Remove(unfinished));
  {
    PS_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                        files_->Create(unfinished));
    PS_RETURN_IF_ERROR(file->Sync());
  }
  return files_->Rename(unfinished, path);
}

absl::Status ProcessSnapshots::ForgetDone() {
  return ps::ForgetDone(files_, folder_);
}

absl::Status ProcessSnapshots::CheckNote(int64_t number,
                                         const std::string& note) const {
  absl::StatusOr<JobConfig> there = JobOfNote(note);
  PS_RETURN_IF_ERROR(Annotate(
      there.status(), absl::StrCat("snapshot ", number, " in ", folder_)));
  if (any_num_servers_) {
    there->mutable_cluster()->set_num_servers(job_.cluster().num_servers());
  }
  if (IsLonger(job_.training(), there->training()) &&
      !DependsOnItsLength(job_)) {
    TrainingConfig* const training = there->mutable_training();
    training->set_epochs(job_.training().epochs());
    training->set_max_iterations(job_.training().max_iterations());
  }
  const std::vector<std::string> differences =
      DescribeConfigDifferences(ComparedText(job_), ComparedText(*there));
  if (differences.empty()) {
    return CheckSameData(note, data_text_,
                         absl::StrCat("snapshot ", number, " in ", folder_));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "snapshot ", number, " in ", folder_,
      " belongs to another job; name another checkpoint.directory, or continue "
      "it with the same job. Differing fields (there: the snapshot):\n  ",
      absl::StrJoin(differences, "\n  ")));
}

absl::Status ProcessSnapshots::SaveBeginning() {
  if (!numbers_.empty()) return absl::OkStatus();
  PS_RETURN_IF_ERROR(Annotate(Write(0, {}, /*needed=*/0),
                              "cannot keep snapshots (checkpoint.directory)"));
  numbers_.push_back(0);
  MutexLock lock(&mu_);
  whole_ = {0};
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> ProcessSnapshots::SavedNow() const {
  return ListSnapshots(files_, folder_);
}

absl::StatusOr<SnapshotParts> ProcessSnapshots::Read(int64_t number) const {
  PS_ASSIGN_OR_RETURN(const Snapshot snapshot,
                      OpenSnapshot(files_, folder_, number));
  SnapshotParts parts;
  for (const SnapshotPart& part : snapshot.parts) {
    PS_ASSIGN_OR_RETURN(parts[part.name],
                        ReadPart(files_, snapshot, part.name));
  }
  return parts;
}

absl::StatusOr<SnapshotParts> ProcessSnapshots::Take(int64_t number) {
  if (std::find(numbers_.begin(), numbers_.end(), number) == numbers_.end()) {
    return absl::NotFoundError(
        absl::StrCat(folder_, " has no whole snapshot ", number));
  }
  PS_ASSIGN_OR_RETURN(SnapshotParts parts, Read(number));
  // Other processes may lack these, and this one will write them again.
  PS_RETURN_IF_ERROR(RemoveNewer(files_, folder_, number));
  MutexLock lock(&mu_);
  whole_.erase(whole_.upper_bound(number), whole_.end());
  return parts;
}

int64_t ProcessSnapshots::latest() const {
  MutexLock lock(&mu_);
  return whole_.empty() ? -1 : *whole_.rbegin();
}

std::set<int64_t> ProcessSnapshots::written() const {
  MutexLock lock(&mu_);
  return whole_;
}

void ProcessSnapshots::Save(int64_t number, SnapshotParts parts,
                            const std::set<int64_t>& written_by_all) {
  const int64_t needed = written_by_all.empty() ? -1 : *written_by_all.rbegin();
  MutexLock writer_lock(&writer_mu_);
  if (writer_.joinable()) writer_.Join();
  writer_ = Thread("snapshots", [this, number, parts = std::move(parts),
                                 needed] {
    const absl::Time start = SteadyClock()->Now();
    const absl::Status written = Write(number, parts, needed);
    if (written_ != nullptr) written_(SteadyClock()->Now() - start, written);
    if (!written.ok()) {
      LOG(ERROR) << "snapshot " << number
                 << " was not saved: " << written.message()
                 << ". The job goes on; make room or mend it before the next "
                    "one is due";
      // Unfinished files of this snapshot are removed, too.
      RemoveOlder(files_, folder_, keep_last_, needed).IgnoreError();
    }
    MutexLock lock(&mu_);
    result_ = written;
    if (!written.ok()) return;
    whole_.erase(whole_.begin(), whole_.lower_bound(needed));
    whole_.insert(number);
  });
}

absl::Status ProcessSnapshots::Write(int64_t number, const SnapshotParts& parts,
                                     int64_t needed) {
  // Old snapshots are removed before the new one is written rather than
  // afterwards: another process may still be writing the previous one, and then
  // only has the one before that.
  PS_RETURN_IF_ERROR(RemoveOlder(files_, folder_, keep_last_, needed));
  PS_ASSIGN_OR_RETURN(SnapshotWriter writer,
                      SnapshotWriter::Create(files_, folder_, number));
  for (const auto& [name, bytes] : parts) {
    PS_RETURN_IF_ERROR(writer.Add(name, bytes));
  }
  return writer.Commit(NoteOf(job_, data_text_));
}

absl::Status ProcessSnapshots::Flush() {
  MutexLock writer_lock(&writer_mu_);
  if (writer_.joinable()) writer_.Join();
  MutexLock lock(&mu_);
  return result_;
}

}  // namespace ps
