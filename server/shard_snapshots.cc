#include "server/shard_snapshots.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/consistency.h"
#include "common/entropy.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "transport/keep_common.h"
#include "transport/proto_bytes.h"

namespace ps {
namespace {

// The snapshots of one process.
struct Holding {
  std::vector<int64_t> whole;
  std::vector<int64_t> damaged;
};

absl::Status AllStartAgain(absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat(why,
                   "; the job goes on from its latest snapshot when all "
                   "processes have been started again"));
}

}  // namespace

ShardSnapshots::ShardSnapshots(const ShardSnapshotsOptions& options)
    : options_(options),
      num_workers_(options.config->cluster().num_workers()),
      workers_come_back_(WorkersComeBack(*options.config)),
      workers_join_(WorkersDrift(*options.config)),
      stage_(options.log != nullptr && options.log->latest().has_value()
                 ? Stage::kUndecided
                 : Stage::kNew),
      epoch_(Entropy()),
      finding_(num_workers_, [this](int64_t) { return Found(); }),
      saving_(num_workers_,
              [this](int64_t number) { return SaveNow(number); }) {}

ShardSnapshots::Welcome ShardSnapshots::Greet(int rank, uint64_t epoch) {
  bool reads = false;
  Welcome welcome = Welcome::kAskAgain;
  {
    MutexLock lock(&mu_);
    if (epoch == 0) {
      CountAsArrived(rank);
    } else if (stage_ == Stage::kUndecided) {
      reads = epoch == options_.log->latest()->epoch;
      if (!reads) return Welcome::kOtherEpoch;
      stage_ = Stage::kReadsLog;
      epoch_ = epoch;
    }
    if (stage_ != Stage::kUndecided && stage_ != Stage::kReadsLog) {
      welcome = epoch == 0 || epoch == epoch_ ? Welcome::kRegister
                                              : Welcome::kOtherEpoch;
    }
  }
  if (reads) options_.schedule([this] { ReadLog(); });
  return welcome;
}

void ShardSnapshots::CountAsArrived(int rank) {
  if (stage_ != Stage::kUndecided) return;
  came_.insert(rank);
  if (static_cast<int>(came_.size()) == num_workers_) {
    stage_ = Stage::kNew;
  }
}

void ShardSnapshots::ReadLog() {
  const absl::Status recovered = Recover();
  if (!recovered.ok()) options_.fail(recovered);
}

uint64_t ShardSnapshots::epoch() const {
  MutexLock lock(&mu_);
  return epoch_;
}

bool ShardSnapshots::up() const {
  MutexLock lock(&mu_);
  return stage_ == Stage::kUp;
}

bool ShardSnapshots::recovered() const {
  MutexLock lock(&mu_);
  return recovered_;
}

void ShardSnapshots::Registered(const WorkerId& worker, uint64_t epoch) {
  MutexLock lock(&mu_);
  if (epoch == 0) {
    newcomers_[worker.rank()] = worker.incarnation();
  } else if (newcomers_[worker.rank()] != worker.incarnation()) {
    // The worker registered before this server was killed.
    members_[worker.rank()] = worker.incarnation();
  }
}

absl::Status ShardSnapshots::StartAgain(absl::string_view why) {
  const absl::Status lost = AllStartAgain(why);
  options_.fail(lost);
  return lost;
}

absl::Status ShardSnapshots::Refused(const absl::Status& refusal) {
  if (!absl::IsFailedPrecondition(refusal) || options_.snapshots == nullptr) {
    return refusal;
  }
  return StartAgain(recovered()
                        ? absl::StrCat("server ", options_.server_index,
                                       " was killed and went on from its log; ",
                                       refusal.message())
                        : std::string(refusal.message()));
}

absl::Status ShardSnapshots::CheckUp() const {
  if (up()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("server ", options_.server_index,
                                             " does not have the weights yet"));
}

absl::Status ShardSnapshots::Recover() {
  const LogSegment& latest = *options_.log->latest();
  const auto read = [&]() -> absl::Status {
    if (options_.snapshots->numbers().empty()) {
      return absl::DataLossError("there is no whole snapshot to begin with");
    }
    const int64_t from = options_.snapshots->numbers().back();
    PS_ASSIGN_OR_RETURN(SnapshotParts parts, options_.snapshots->Take(from));
    PS_ASSIGN_OR_RETURN(LoggedJob read, options_.log->Read(from));
    if (!options_.log->syncs() && read.boot != BootId()) {
      return absl::DataLossError(
          "this machine has been started anew, and checkpoint.fsync is false: "
          "updates that were answered may be missing");
    }
    auto logged = std::make_shared<const LoggedJob>(std::move(read));
    const int64_t num_updates = logged->num_updates;
    PS_RETURN_IF_ERROR(options_.shard->SetLayout(LayoutOf(logged->layout)));
    PS_RETURN_IF_ERROR(options_.shard->Load(std::move(parts), logged));
    logged = nullptr;  // This frees the log.
    PS_RETURN_IF_ERROR(options_.log->Continue());
    LOG(INFO) << "goes on from " << latest.path << " after version "
              << options_.shard->version() << ": " << num_updates
              << " updates of slices since snapshot " << from;
    return absl::OkStatus();
  };
  const absl::Status status = read();
  if (!status.ok()) {
    // The next process of this server must not repeat the attempt.
    options_.log->GiveUp().IgnoreError();
    return AllStartAgain(
        absl::StrCat("the server was killed and cannot go on from its log: ",
                     status.message()));
  }
  // Workers that had arrived at a barrier may not have heard the answer.
  SaveSnapshotResponse saved;
  saving_.Remember(latest.number, ToBytes(saved));
  FindSnapshotsResponse found;
  found.add_snapshots(latest.number);
  if (latest.number > 0) {
    found.add_holdings(absl::StrCat("all have ", latest.number));
  }
  finding_.Remember(0, ToBytes(found));
  MutexLock lock(&mu_);
  restored_ = latest.number;
  recovered_ = true;
  stage_ = Stage::kUp;
  return absl::OkStatus();
}

absl::Status ShardSnapshots::BeginLog(int64_t number) {
  if (options_.log == nullptr) return absl::OkStatus();
  return options_.log->Begin(number, epoch(),
                             RegistrationOf(options_.shard->layout()));
}

absl::Status ShardSnapshots::BeforeInitialWeights() {
  // The slices get their initial weights at the same time.
  MutexLock log_lock(&log_mu_);
  {
    MutexLock lock(&mu_);
    if (stage_ == Stage::kUp) return absl::OkStatus();
    if (stage_ == Stage::kRestoring) {
      return absl::UnavailableError("this server is restoring a snapshot");
    }
  }
  PS_RETURN_IF_ERROR(BeginLog(0));
  MutexLock lock(&mu_);
  stage_ = Stage::kUp;
  return absl::OkStatus();
}

void ShardSnapshots::Find(const FindSnapshotsRequest& request,
                          std::shared_ptr<HeldCall> call) {
  const WorkerId& worker = request.worker();
  const bool replaced = options_.config->checkpoint().replace_lost_workers() &&
                        request.snapshots().empty() &&
                        request.damaged().empty();
  bool alone = false;
  std::optional<int64_t> lacked;
  {
    MutexLock lock(&mu_);
    uint64_t& member = members_[worker.rank()];
    // A worker that had only registered when this server was killed may not
    // have the snapshot from which the job resumed.
    const int64_t from = recovered_ ? restored_.value_or(0) : 0;
    const bool lacks =
        from > 0 && std::count(request.snapshots().begin(),
                               request.snapshots().end(), from) == 0;
    alone = workers_come_back_ && stage_ != Stage::kNew &&
            (member != worker.incarnation() || lacks);
    if (!alone) {
      if (lacks && !replaced) lacked = from;
      member = worker.incarnation();
      workers_have_[worker.rank()] = request;
    }
  }
  if (lacked.has_value()) {
    call->Respond(StartAgain(absl::StrCat(
        "server ", options_.server_index,
        " was killed and went on from its log since snapshot ", *lacked,
        ", which worker ", worker.rank(), " does not have")));
    return;
  }
  if (!alone) {
    Arrive(&finding_, worker.rank(), /*number=*/0, std::move(call));
    return;
  }
  const absl::Status is_up = CheckUp();
  const absl::StatusOr<FindSnapshotsResponse> found =
      is_up.ok() ? FoundAlone(request) : is_up;
  if (found.ok()) {
    call->Respond(ToBytes(*found));
  } else {
    call->Respond(found.status());
  }
}

void ShardSnapshots::Arrive(Barrier* barrier, int rank, int64_t number,
                            std::shared_ptr<HeldCall> call) {
  const absl::Status fits = barrier->Arrive(rank, number, std::move(call));
  if (!fits.ok()) StartAgain(fits.message()).IgnoreError();
}

absl::StatusOr<FindSnapshotsResponse> ShardSnapshots::FoundAlone(
    const FindSnapshotsRequest& request) const {
  PS_ASSIGN_OR_RETURN(const std::vector<int64_t> beginnings,
                      options_.log->Beginnings());
  PS_ASSIGN_OR_RETURN(const std::vector<int64_t> saved,
                      options_.snapshots->SavedNow());
  FindSnapshotsResponse response;
  response.set_alone(true);
  for (const int64_t number : beginnings) {
    if (std::count(saved.begin(), saved.end(), number) > 0 &&
        std::count(request.snapshots().begin(), request.snapshots().end(),
                   number) > 0) {
      response.add_snapshots(number);
    }
  }
  response.add_holdings(
      absl::StrCat("worker ", request.worker().rank(), " has ",
                   absl::StrJoin(request.snapshots(), ", "), ", and server ",
                   options_.server_index, " can go back to ",
                   absl::StrJoin(beginnings, ", ")));
  return response;
}

absl::StatusOr<grpc::ByteBuffer> ShardSnapshots::Found() {
  std::map<std::string, Holding> owners;
  Holding& mine = owners[absl::StrCat("server ", options_.server_index)];
  if (options_.snapshots != nullptr) {
    mine.whole = options_.snapshots->numbers();
    mine.damaged = options_.snapshots->damaged();
  }
  {
    MutexLock lock(&mu_);
    for (const auto& [rank, request] : workers_have_) {
      Holding& holding = owners[absl::StrCat("worker ", rank)];
      holding.whole.assign(request.snapshots().begin(),
                           request.snapshots().end());
      holding.damaged.assign(request.damaged().begin(),
                             request.damaged().end());
    }
  }
  FindSnapshotsResponse response;
  std::set<int64_t> common(mine.whole.begin(), mine.whole.end());
  for (auto& [owner, holding] : owners) {
    if (options_.config->checkpoint().replace_lost_workers() &&
        &holding != &mine && holding.whole.empty() && holding.damaged.empty()) {
      continue;
    }
    std::sort(holding.whole.begin(), holding.whole.end());
    KeepCommon(holding.whole, &common);
    std::vector<std::string> texts;
    for (const int64_t number : holding.whole) {
      if (number > 0) texts.push_back(absl::StrCat(number));
    }
    for (const int64_t number : holding.damaged) {
      if (number > 0) texts.push_back(absl::StrCat(number, " (damaged)"));
    }
    if (texts.empty()) continue;
    response.add_holdings(
        absl::StrCat(owner, " has ", absl::StrJoin(texts, ", ")));
  }
  for (const int64_t number : common) response.add_snapshots(number);
  // This begins a job.
  if (response.holdings().empty() && options_.snapshots != nullptr) {
    PS_RETURN_IF_ERROR(options_.snapshots->SaveBeginning());
  }
  return ToBytes(response);
}

absl::Status ShardSnapshots::Restore(const RestoreRequest& request) {
  const int rank = request.worker().rank();
  const int64_t number = request.number();
  if (request.joins()) return Join(request);
  if (request.alone() && !workers_come_back_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", rank, " goes back alone, which this job does not allow"));
  }
  if (!request.alone() && rank != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", rank, " restores a snapshot; only worker 0 may do that"));
  }
  bool fits = false;
  {
    MutexLock lock(&mu_);
    if (stage_ == Stage::kRestoring) {
      return absl::UnavailableError("this server is restoring a snapshot");
    }
    const bool is_up = stage_ == Stage::kUp;
    if (is_up && !request.alone() && restored_ == number) {
      return absl::OkStatus();
    }
    fits = request.alone() == is_up;
    if (fits && !is_up) stage_ = Stage::kRestoring;
  }
  if (!fits) {
    return StartAgain(absl::StrCat("worker ", rank, " goes back to snapshot ",
                                   number, request.alone() ? " alone" : "",
                                   ", and server ", options_.server_index,
                                   " does not"));
  }
  if (request.alone()) return Rewind(rank, number);
  const absl::Status status = RestoreNow(number);
  MutexLock lock(&mu_);
  // Snapshot 0 is empty: worker 0 brings the weights.
  stage_ = status.ok() && number > 0 ? Stage::kUp : Stage::kNew;
  if (status.ok()) restored_ = number;
  return status;
}

absl::Status ShardSnapshots::Join(const RestoreRequest& request) {
  const int rank = request.worker().rank();
  if (!workers_join_ || request.number() < 0 || request.averagings() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("worker ", rank, " joins after ", request.number(),
                     " pushes and ", request.averagings(), " averagings",
                     workers_join_ ? "; they must be at least 0"
                                   : ", which this job does not allow"));
  }
  {
    MutexLock lock(&mu_);
    behind_.insert(rank);
  }
  options_.shard->Join(rank, request.number(), request.averagings());
  finding_.WorkerJoins(rank, 0);
  saving_.WorkerJoins(rank, request.number());
  LOG(INFO) << "worker " << rank << " joins after push " << request.number();
  return absl::OkStatus();
}

absl::Status ShardSnapshots::CheckJoined(int rank, int64_t number) const {
  if (number == 0 || (workers_join_ && number > 0)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("worker ", rank, " has joined after ", number, " pushes",
                   workers_join_ ? "; they must be at least 0"
                                 : ", which this job does not allow"));
}

void ShardSnapshots::HasJoined(int rank, int64_t number) {
  bool inserted = false;
  {
    // This precedes a snapshot of the others, who may be waiting.
    MutexLock lock(&mu_);
    inserted = behind_.insert(rank).second;
  }
  finding_.WorkerHasJoined(rank, 0);
  if (saving_.WorkerHasJoined(rank, number) || !inserted) return;
  MutexLock lock(&mu_);
  behind_.erase(rank);
}

absl::Status ShardSnapshots::Rewind(int rank, int64_t number) {
  const auto rewind = [&]() -> absl::Status {
    PS_ASSIGN_OR_RETURN(SnapshotParts parts, options_.snapshots->Read(number));
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<const LoggedJob> logged,
                        LogFrom(number));
    return options_.shard->Rewind(rank, std::move(parts), logged);
  };
  const absl::Status status = rewind();
  if (!status.ok()) {
    return StartAgain(absl::StrCat(
        "worker ", rank, " was started again and cannot go back to snapshot ",
        number, ": ", status.message()));
  }
  LOG(INFO) << "worker " << rank << " goes back to snapshot " << number
            << " alone, and gets the answers since then once more";
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const LoggedJob>> ShardSnapshots::LogFrom(
    int64_t number) {
  MutexLock lock(&log_mu_);
  // The job cannot advance past a worker that has not caught up: at most the
  // last update is missing, whose answer each slice has.
  std::shared_ptr<const LoggedJob> logged = read_.lock();
  if (logged == nullptr || read_from_ > number) {
    PS_ASSIGN_OR_RETURN(LoggedJob read, options_.log->Read(number));
    logged = std::make_shared<const LoggedJob>(std::move(read));
    read_ = logged;
    read_from_ = number;
  }
  return logged;
}

absl::Status ShardSnapshots::RestoreNow(int64_t number) {
  if (options_.snapshots == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("server ", options_.server_index,
                     " keeps no snapshots: its checkpoint.directory is empty"));
  }
  PS_ASSIGN_OR_RETURN(SnapshotParts parts, options_.snapshots->Take(number));
  if (number == 0) return absl::OkStatus();
  PS_RETURN_IF_ERROR(Annotate(
      options_.shard->Load(std::move(parts)),
      absl::StrCat(options_.snapshots->folder(), "/snapshot-", number)));
  {
    MutexLock lock(&log_mu_);
    PS_RETURN_IF_ERROR(BeginLog(number));
  }
  LOG(INFO) << "goes on from snapshot " << number << " in "
            << options_.snapshots->folder();
  return absl::OkStatus();
}

void ShardSnapshots::Save(const SaveSnapshotRequest& request,
                          std::shared_ptr<HeldCall> call) {
  {
    MutexLock lock(&mu_);
    workers_save_[request.worker().rank()] = request;
    behind_.erase(request.worker().rank());
  }
  Arrive(&saving_, request.worker().rank(), request.number(), std::move(call));
}

absl::StatusOr<grpc::ByteBuffer> ShardSnapshots::SaveNow(int64_t number) {
  SaveSnapshotResponse response;
  if (options_.snapshots == nullptr) return ToBytes(response);
  std::set<int64_t> written = options_.snapshots->written();
  std::set<int64_t> by_all = written;
  {
    MutexLock lock(&mu_);
    for (const auto& [rank, request] : workers_save_) {
      // A departed worker has not sent this number.
      if (request.number() != number) continue;
      KeepCommon(request.written(), &written);
      KeepCommon(request.written_by_all(), &by_all);
    }
    // The snapshots of a worker that has joined are unknown.
    if (!behind_.empty()) written.clear();
  }
  KeepCommon(written, &by_all);
  response.mutable_written()->Add(written.begin(), written.end());
  PS_ASSIGN_OR_RETURN(SnapshotParts parts, options_.shard->Save());
  {
    MutexLock lock(&log_mu_);
    PS_RETURN_IF_ERROR(BeginLog(number));
  }
  options_.snapshots->Save(number, std::move(parts), by_all);
  return ToBytes(response);
}

void ShardSnapshots::WorkerGone(int rank) {
  {
    MutexLock lock(&mu_);
    behind_.erase(rank);
    CountAsArrived(rank);
  }
  finding_.WorkerGone(rank);
  saving_.WorkerGone(rank);
}

void ShardSnapshots::Fail(const absl::Status& failure) {
  finding_.Fail(failure);
  saving_.Fail(failure);
}

}  // namespace ps
