#include "server/shard_snapshots.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "transport/proto_bytes.h"

namespace ps {
namespace {

// What one process has.
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

uint64_t NewEpoch() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

ShardSnapshots::ShardSnapshots(const ShardSnapshotsOptions& options)
    : options_(options),
      epoch_(NewEpoch()),
      finding_(options.num_workers, [this](int64_t) { return Found(); }),
      saving_(options.num_workers,
              [this](int64_t number) { return SaveNow(number); }) {}

bool ShardSnapshots::Welcome(uint64_t epoch) {
  {
    MutexLock lock(&mu_);
    if (stage_ != Stage::kUndecided) return stage_ != Stage::kReadsLog;
    if (epoch == 0 || options_.log == nullptr ||
        !options_.log->latest().has_value() ||
        options_.log->latest()->epoch != epoch) {
      stage_ = Stage::kNew;
      return true;
    }
    stage_ = Stage::kReadsLog;
    epoch_ = epoch;
  }
  options_.schedule([this] {
    const absl::Status recovered = Recover();
    if (recovered.ok()) {
      options_.recovered();
    } else {
      options_.fail(recovered);
    }
  });
  return false;
}

uint64_t ShardSnapshots::epoch() const {
  MutexLock lock(&mu_);
  return epoch_;
}

bool ShardSnapshots::recovered() const {
  MutexLock lock(&mu_);
  return stage_ == Stage::kRecovered;
}

void ShardSnapshots::Registered(const WorkerId& worker, uint64_t epoch) {
  MutexLock lock(&mu_);
  // It was there before this server was killed.
  if (epoch != 0) members_[worker.rank()] = worker.incarnation();
}

absl::Status ShardSnapshots::Refused(int rank, const absl::Status& refusal) {
  if (!absl::IsFailedPrecondition(refusal)) return refusal;
  std::string why;
  {
    MutexLock lock(&mu_);
    if (came_back_.count(rank) > 0) {
      why = std::string(refusal.message());
    } else if (stage_ == Stage::kRecovered) {
      why = absl::StrCat(
          "server ", options_.server_index,
          " was killed, and its log lacks updates that it had answered (",
          refusal.message(), ")");
    } else {
      return refusal;
    }
  }
  const absl::Status lost = AllStartAgain(why);
  options_.fail(lost);
  return lost;
}

absl::Status ShardSnapshots::CheckReady() const {
  MutexLock lock(&mu_);
  if (stage_ == Stage::kNew || stage_ == Stage::kRecovered) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("server ", options_.server_index,
                                             " does not know its job yet"));
}

absl::Status ShardSnapshots::Recover() {
  const LogSegment& latest = *options_.log->latest();
  const auto read = [&]() -> absl::Status {
    if (options_.snapshots->numbers().empty()) {
      return absl::DataLossError("there is no whole snapshot to begin with");
    }
    const int64_t from = options_.snapshots->numbers().back();
    PS_ASSIGN_OR_RETURN(SnapshotParts parts, options_.snapshots->Take(from));
    PS_ASSIGN_OR_RETURN(LoggedJob logged, options_.log->Read(from));
    const int64_t num_updates = logged.num_updates;
    PS_RETURN_IF_ERROR(
        options_.shard->Load(std::move(parts), std::move(logged)));
    PS_RETURN_IF_ERROR(options_.log->Continue());
    LOG(INFO) << "goes on from " << latest.path << " after version "
              << options_.shard->version() << ": " << num_updates
              << " updates of slices since snapshot " << from;
    return absl::OkStatus();
  };
  const absl::Status status = read();
  if (!status.ok()) {
    // The next process of this server must not try the same.
    options_.log->GiveUp().IgnoreError();
    return AllStartAgain(
        absl::StrCat("the server was killed and cannot go on from its log: ",
                     status.message()));
  }
  // Workers that had come to a meeting may not have heard the answer.
  SaveSnapshotResponse saved;
  saved.set_written(options_.snapshots->latest());
  saved.set_workers_written(-1);
  saving_.Remember(latest.number, ToBytes(saved));
  FindSnapshotsResponse found;
  found.add_snapshots(latest.number);
  if (latest.number > 0) {
    found.add_holdings(absl::StrCat("all have ", latest.number));
  }
  finding_.Remember(0, ToBytes(found));
  {
    MutexLock lock(&log_mu_);
    has_log_ = true;
  }
  MutexLock lock(&mu_);
  restored_ = latest.number;
  found_ = true;
  stage_ = Stage::kRecovered;
  return absl::OkStatus();
}

absl::Status ShardSnapshots::BeginLog(int64_t number) {
  if (options_.log == nullptr) return absl::OkStatus();
  PS_RETURN_IF_ERROR(options_.log->Begin(number, epoch()));
  has_log_ = true;
  return absl::OkStatus();
}

absl::Status ShardSnapshots::BeforeFirstWeights() {
  // Slices get theirs at the same time.
  MutexLock lock(&log_mu_);
  return has_log_ ? absl::OkStatus() : BeginLog(0);
}

void ShardSnapshots::Find(const FindSnapshotsRequest& request,
                          std::shared_ptr<HeldCall> call) {
  const WorkerId& worker = request.worker();
  bool alone = false;
  {
    MutexLock lock(&mu_);
    uint64_t& member = members_[worker.rank()];
    // Before the first weights, all are where they begin.
    alone = options_.workers_come_back && found_ &&
            member != worker.incarnation() && options_.shard->version() >= 0;
    if (!alone) {
      member = worker.incarnation();
      workers_have_[worker.rank()] = request;
    }
  }
  if (!alone) {
    finding_.Come(worker.rank(), /*number=*/0, std::move(call));
    return;
  }
  const absl::StatusOr<FindSnapshotsResponse> found = FoundAlone(request);
  if (found.ok()) {
    call->Respond(ToBytes(*found));
  } else {
    call->Respond(found.status());
  }
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
  // All workers know this process now; what still arrives of an earlier job's
  // servers must not count.
  options_.shard->ForgetNorms();
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
  std::vector<int64_t> common = mine.whole;
  for (auto& [owner, holding] : owners) {
    if (options_.replace_lost_workers && &holding != &mine &&
        holding.whole.empty() && holding.damaged.empty()) {
      continue;
    }
    std::sort(holding.whole.begin(), holding.whole.end());
    std::vector<int64_t> both;
    std::set_intersection(common.begin(), common.end(), holding.whole.begin(),
                          holding.whole.end(), std::back_inserter(both));
    common.swap(both);
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
  // A job begins.
  if (response.holdings().empty() && options_.snapshots != nullptr) {
    PS_RETURN_IF_ERROR(options_.snapshots->SaveBeginning());
  }
  MutexLock lock(&mu_);
  found_ = true;
  return ToBytes(response);
}

absl::Status ShardSnapshots::Restore(const RestoreRequest& request) {
  const int rank = request.worker().rank();
  if (request.joins()) return Join(request);
  if (request.alone() && !options_.workers_come_back) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", rank, " goes back alone, which this job does not allow"));
  }
  if (request.alone() && options_.shard->version() >= 0) {
    return Rewind(rank, request.number());
  }
  if (rank == 0) return RestoreAll(request.number());
  // Worker 0 brings the weights.
  if (request.alone()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "worker ", rank, " restores a snapshot; only worker 0 may do that"));
}

absl::Status ShardSnapshots::Join(const RestoreRequest& request) {
  const int rank = request.worker().rank();
  if (!options_.workers_join || request.number() < 0 ||
      request.averagings() < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", rank, " joins after ", request.number(), " pushes and ",
        request.averagings(), " averagings",
        options_.workers_join ? "; they must be at least 0"
                              : ", which this job does not allow"));
  }
  options_.shard->Join(rank, request.number(), request.averagings());
  finding_.WorkerJoins(rank, 0);
  saving_.WorkerJoins(rank, request.number());
  LOG(INFO) << "worker " << rank << " joins after push " << request.number();
  return absl::OkStatus();
}

absl::Status ShardSnapshots::Rewind(int rank, int64_t number) {
  const auto rewind = [&]() -> absl::Status {
    PS_ASSIGN_OR_RETURN(SnapshotParts parts, options_.snapshots->Read(number));
    PS_ASSIGN_OR_RETURN(LoggedJob logged, options_.log->Read(number));
    return options_.shard->Rewind(rank, std::move(parts), std::move(logged));
  };
  const absl::Status status = rewind();
  if (!status.ok()) {
    const absl::Status lost = AllStartAgain(absl::StrCat(
        "worker ", rank, " was started again and cannot go back to snapshot ",
        number, ": ", status.message()));
    options_.fail(lost);
    return lost;
  }
  LOG(INFO) << "worker " << rank << " goes back to snapshot " << number
            << " alone, and gets the answers since then once more";
  MutexLock lock(&mu_);
  came_back_.insert(rank);
  return absl::OkStatus();
}

absl::Status ShardSnapshots::RestoreAll(int64_t number) {
  {
    MutexLock lock(&mu_);
    if (restoring_) {
      return absl::UnavailableError("this server is restoring a snapshot");
    }
    if (restored_ == number) return absl::OkStatus();
    if (restored_.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("this server goes on from snapshot ", *restored_,
                       ", not from ", number));
    }
    restoring_ = true;
  }
  const absl::Status status = RestoreNow(number);
  MutexLock lock(&mu_);
  restoring_ = false;
  if (status.ok()) restored_ = number;
  return status;
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
  }
  saving_.Come(request.worker().rank(), request.number(), std::move(call));
}

absl::StatusOr<grpc::ByteBuffer> ShardSnapshots::SaveNow(int64_t number) {
  SaveSnapshotResponse response;
  if (options_.snapshots == nullptr) return ToBytes(response);
  response.set_written(options_.snapshots->latest());
  int64_t by_workers = number;
  int64_t by_servers = response.written();
  {
    MutexLock lock(&mu_);
    for (const auto& [rank, request] : workers_save_) {
      // A worker that is gone does not come with this number.
      if (request.number() != number) continue;
      by_workers = std::min(by_workers, request.written());
      by_servers = std::min(by_servers, request.servers_written());
    }
  }
  response.set_workers_written(by_workers);
  PS_ASSIGN_OR_RETURN(SnapshotParts parts, options_.shard->Save());
  {
    MutexLock lock(&log_mu_);
    PS_RETURN_IF_ERROR(BeginLog(number));
  }
  options_.snapshots->Save(number, std::move(parts),
                           std::min(by_workers, by_servers));
  return ToBytes(response);
}

void ShardSnapshots::WorkerGone(int rank) {
  finding_.WorkerGone(rank);
  saving_.WorkerGone(rank);
}

void ShardSnapshots::Fail(const absl::Status& failure) {
  finding_.Fail(failure);
  saving_.Fail(failure);
}

}  // namespace ps
