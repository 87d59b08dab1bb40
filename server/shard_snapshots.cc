#include "server/shard_snapshots.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "proto/parameter_server.pb.h"
#include "transport/proto_bytes.h"

namespace ps {

ShardSnapshots::ShardSnapshots(const ShardSnapshotsOptions& options)
    : options_(options),
      finding_(options.num_workers, [this](int64_t) { return Found(); }),
      saving_(options.num_workers,
              [this](int64_t number) { return SaveNow(number); }) {}

void ShardSnapshots::Find(int rank, std::vector<int64_t> numbers,
                          std::shared_ptr<HeldCall> call) {
  std::sort(numbers.begin(), numbers.end());
  {
    MutexLock lock(&mu_);
    workers_have_[rank] = std::move(numbers);
  }
  finding_.Come(rank, /*number=*/0, std::move(call));
}

absl::StatusOr<grpc::ByteBuffer> ShardSnapshots::Found() {
  std::map<std::string, std::vector<int64_t>> owners;
  if (options_.snapshots != nullptr) {
    owners[absl::StrCat("server ", options_.server_index)] =
        options_.snapshots->numbers();
  } else {
    owners[absl::StrCat("server ", options_.server_index)] = {};
  }
  {
    MutexLock lock(&mu_);
    for (const auto& [rank, numbers] : workers_have_) {
      owners[absl::StrCat("worker ", rank)] = numbers;
    }
  }
  FindSnapshotsResponse response;
  std::vector<int64_t> common = owners.begin()->second;
  for (const auto& [owner, numbers] : owners) {
    std::vector<int64_t> both;
    std::set_intersection(common.begin(), common.end(), numbers.begin(),
                          numbers.end(), std::back_inserter(both));
    common.swap(both);
    if (numbers.empty()) continue;
    response.add_holdings(
        absl::StrCat(owner, " has ", absl::StrJoin(numbers, ", ")));
  }
  for (const int64_t number : common) response.add_snapshots(number);
  return ToBytes(response);
}

absl::Status ShardSnapshots::Restore(int64_t number) {
  if (options_.snapshots == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("server ", options_.server_index,
                     " keeps no snapshots: its checkpoint.directory is empty"));
  }
  // Under the lock, so that a repeat waits for the first call.
  MutexLock lock(&mu_);
  if (restored_) {
    if (restored_number_ == number) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("this server goes on from snapshot ", restored_number_,
                     ", not from ", number));
  }
  PS_ASSIGN_OR_RETURN(const SnapshotParts parts,
                      options_.snapshots->Take(number));
  PS_RETURN_IF_ERROR(Annotate(
      options_.shard->Load(parts),
      absl::StrCat(options_.snapshots->folder(), "/snapshot-", number)));
  restored_ = true;
  restored_number_ = number;
  LOG(INFO) << "goes on from snapshot " << number << " in "
            << options_.snapshots->folder();
  return absl::OkStatus();
}

void ShardSnapshots::Save(int rank, int64_t number,
                          std::shared_ptr<HeldCall> call) {
  saving_.Come(rank, number, std::move(call));
}

absl::StatusOr<grpc::ByteBuffer> ShardSnapshots::SaveNow(int64_t number) {
  if (options_.snapshots != nullptr) {
    PS_ASSIGN_OR_RETURN(SnapshotParts parts, options_.shard->Save());
    options_.snapshots->Save(number, std::move(parts));
  }
  return ToBytes(SaveSnapshotResponse());
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
