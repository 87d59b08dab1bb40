// Registers workers: checks them, and tells them about the job.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/data_description.h"
#include "common/external_model.h"
#include "common/machine_limits.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "glog/logging.h"
#include "server/limits/memory_bound.h"
#include "server/server_calls.h"
#include "transport/proto_bytes.h"

namespace ps {
namespace {

// These limit text from a peer that goes to the log and into errors.
constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxCoresBytes = 512;
constexpr size_t kMaxConfigBytes = 1 << 20;

}  // namespace

void ServerCalls::BoundMemory() {
  const ServerPart part = shard_->part();
  credit_.SetCredit(CreditBytes(*config_, part));
  answers_.SetCredit(AnswerCreditBytes(*config_, part));
  SetQuota();
  if (bound_known_.exchange(true)) return;
  const absl::StatusOr<MemoryBound> bound = MemoryBoundOf(*config_, part);
  if (!bound.ok()) return;  // The shard did not take the layout.
  LOG(INFO) << "server " << server_index_ << " takes " << Describe(*bound);
  LOG_IF(WARNING, bound->total() > MachineMemoryBytes())
      << "that is more than the " << (MachineMemoryBytes() >> 20)
      << " MiB that it may use: workers that do not read their answers, or "
         "whose pushes have to wait, can exhaust its memory; lower "
         "cluster.credit_megabytes, or add servers";
}

absl::Status ServerCalls::CheckConfig(const RegisterRequest& request) {
  // The values are omitted: the job is hidden from unauthenticated callers.
  const std::vector<std::string> fields = DescribeConfigDifferences(
      shared_config_text_, request.config(), /*values=*/false);
  if (fields.empty()) return absl::OkStatus();
  const std::string worker =
      absl::StrCat("worker ", request.worker().rank(), " (", request.name(),
                   ") has another config than server ", server_index_);
  about_peers_.Log(
      absl::StrCat(worker, " (there: the worker, here: the server): ",
                   absl::StrJoin(DescribeConfigDifferences(shared_config_text_,
                                                           request.config()),
                                 "; ")),
      [](const std::string& line) { LOG(ERROR) << line; });
  return absl::FailedPreconditionError(absl::StrCat(
      worker,
      "; start all processes of a job with the same one. Differing fields, "
      "whose values are in the server's log:\n  ",
      absl::StrJoin(fields, "\n  ")));
}

absl::Status ServerCalls::CheckData(const RegisterRequest& request,
                                    bool admitted) {
  const int rank = request.worker().rank();
  int other_rank = -1;
  std::string difference;
  {
    MutexLock lock(&mu_);
    // All other workers have the same data.
    const auto other =
        std::find_if(data_.begin(), data_.end(),
                     [rank](const auto& data) { return data.first != rank; });
    if (other == data_.end() || *other->second == request.data()) {
      if (!admitted) return absl::OkStatus();
      data_[rank] = other == data_.end()
                        ? std::make_shared<const std::string>(request.data())
                        : other->second;
      return absl::OkStatus();
    }
    other_rank = other->first;
    difference = DescribeDataDifference(request.data(), *other->second);
  }
  // Without data, their descriptions name the tensors.
  const bool external = HasExternalModel(*config_);
  return absl::FailedPreconditionError(absl::StrCat(
      "worker ", rank, " (", request.name(), ") has ",
      external ? "another model" : "other data", " than worker ", other_rank,
      " (here: worker ", rank, ", there: worker ", other_rank,
      "): ", difference,
      external ? "; the program must make the same model in all workers"
               : "; the same files must be in data.directory of all workers"));
}

absl::Status ServerCalls::HandleRegister(const RegisterRequest& request,
                                         RegisterResponse* response) {
  if (request.protocol() != kProtocol) {
    return absl::FailedPreconditionError(absl::StrCat(
        "worker ", request.worker().rank(), " has protocol ",
        request.protocol(), ", and server ", server_index_, " has ", kProtocol,
        "; start all processes of a job with the same version"));
  }
  if (request.server_index() != server_index_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this is server ", server_index_, "; the worker takes it for server ",
        request.server_index(), ". Is cluster.servers in order of index?"));
  }
  if (request.cores().size() > kMaxCoresBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("cores of ", request.cores().size(), " bytes; at most ",
                     kMaxCoresBytes, " are allowed"));
  }
  if (request.name().size() > kMaxNameBytes ||
      request.config().size() > kMaxConfigBytes ||
      request.data().size() > kMaxDataDescriptionBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a name of ", request.name().size(), " bytes, a config of ",
        request.config().size(), " and a description of data of ",
        request.data().size(), "; at most ", kMaxNameBytes, ", ",
        kMaxConfigBytes, " and ", kMaxDataDescriptionBytes, " are allowed"));
  }
  if (HasControlCharacters(absl::StrReplaceAll(request.data(), {{"\n", ""}}))) {
    return absl::InvalidArgumentError(
        "the description of the data has control characters");
  }
  if (!std::all_of(request.name().begin(), request.name().end(),
                   absl::ascii_isprint)) {
    return absl::InvalidArgumentError("the name has unprintable characters");
  }
  PS_RETURN_IF_ERROR(membership_->CheckRank(request.worker().rank()));
  if (request.keeps_snapshots() != KeepsSnapshots(*config_)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "worker ", request.worker().rank(), " (", request.name(), ") ",
        request.keeps_snapshots() ? "keeps" : "does not keep",
        " snapshots, and server ", server_index_, " does",
        request.keeps_snapshots() ? " not" : "",
        "; give all processes a checkpoint.directory, or none"));
  }
  PS_RETURN_IF_ERROR(CheckConfig(request));
  const int rank = request.worker().rank();
  PS_RETURN_IF_ERROR(snapshots_->CheckJoined(rank, request.joined_after()));
  {
    MutexLock lock(&mu_);
    if (over_ && !result_.ok()) return result_;
    if (over_ || done_) {
      response->set_done(true);
      return absl::OkStatus();
    }
  }
  // This precedes the layout, which a server that resumes from its log knows.
  switch (snapshots_->Greet(rank, request.epoch())) {
    case ShardSnapshots::Welcome::kAskAgain:
      membership_->Await(rank);
      response->set_recovering(true);
      return absl::OkStatus();
    case ShardSnapshots::Welcome::kOtherEpoch:
      return absl::OkStatus();
    case ShardSnapshots::Welcome::kRegister:
      break;
  }
  PS_RETURN_IF_ERROR(CheckData(request, /*admitted=*/false));
  const ShardLayout layout = LayoutOf(request);
  // This precedes Membership::Register, so that a worker with a wrong layout
  // does not take the rank.
  PS_RETURN_IF_ERROR(rank == 0 ? shard_->SetLayout(layout)
                               : shard_->CheckSameLayout(layout));
  BoundMemory();
  // A server may have read only some of the initial weights from its log.
  const bool began = snapshots_->up() && shard_->version() >= 0;
  const absl::StatusOr<bool> joined = membership_->Register(
      rank, request.worker().incarnation(), request.name(), began);
  if (absl::IsUnavailable(joined.status())) {
    // The worker would take an error for one of the network.
    response->set_not_yet(std::string(joined.status().message()));
    return absl::OkStatus();
  }
  PS_RETURN_IF_ERROR(joined.status());
  // Two workers may have come at the same time.
  PS_RETURN_IF_ERROR(CheckData(request, /*admitted=*/true));
  membership_->SetCores(rank, request.cores());
  // The others have ended, or will: this worker could not train alone.
  if (stopped_) return snapshots_->StartAgain(kStopped);
  response->set_finished(membership_->HasFinished(rank));
  snapshots_->Registered(request.worker(), request.epoch());
  if (request.joined_after() > 0) {
    snapshots_->HasJoined(rank, request.joined_after());
  }
  const bool unknown = snapshots_->recovered() && request.epoch() == 0;
  if (WorkersDrift(*config_) && (*joined || (unknown && began))) {
    response->set_joins(true);
    response->set_joins_at(shard_->JoinsAt(rank));
  }
  if (began) has_weights_();
  about_peers_.Log(absl::StrCat(membership_->NameOf(rank), " registered"),
                   [](const std::string& line) { LOG(INFO) << line; });
  return absl::OkStatus();
}

void ServerCalls::Register(const Caller& caller,
                           const grpc::ByteBuffer& request,
                           const CallPtr& call) {
  const auto message = FromBytes<RegisterRequest>(request);
  if (!message.ok()) {
    call->Respond(message.status());
    return;
  }
  const int rank = message->worker().rank();
  RegisterResponse response;
  absl::Status handled = callers_->CheckCaller(caller, Role::kWorker, rank);
  if (handled.ok()) handled = HandleRegister(*message, &response);
  if (!handled.ok()) {
    // The worker retries if the server is not ready yet.
    if (!absl::IsUnavailable(handled)) {
      about_peers_.Log(
          absl::StrCat("refused worker ", rank, ": ", handled.message()),
          [](const std::string& line) { LOG(ERROR) << line; });
    }
    call->Respond(handled);
    return;
  }
  response.set_credit_bytes(credit_.bytes_per_worker());
  response.set_needs_whole_iterations(NeedsWholeIterations(*config_));
  response.set_epoch(snapshots_->epoch());
  call->Respond(ToBytes(response));
}

}  // namespace ps
