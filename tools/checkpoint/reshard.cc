#include "tools/checkpoint/reshard.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "proto/config.pb.h"
#include "server/slices/slice_options.h"
#include "server/slices/slice_state.h"
#include "storage/process_snapshots.h"
#include "storage/snapshot.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

std::string FolderOf(const std::string& directory, int server,
                     int num_servers) {
  return absl::StrCat(directory, "/", ServerProcess(server, num_servers));
}

// The snapshots that are whole in the folders of all servers.
absl::StatusOr<std::vector<int64_t>> WholeSnapshots(
    Files* files, const std::string& directory, int num_servers) {
  std::optional<std::vector<int64_t>> common;
  for (int i = 0; i < num_servers; ++i) {
    const std::string folder = FolderOf(directory, i, num_servers);
    PS_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers,
                        ListSnapshots(files, folder));
    std::vector<int64_t> whole;
    for (const int64_t number : numbers) {
      if (number == 0) continue;  // The beginning, and empty.
      const bool wanted =
          !common.has_value() ||
          std::binary_search(common->begin(), common->end(), number);
      if (wanted && VerifySnapshot(files, folder, number).ok()) {
        whole.push_back(number);
      }
    }
    common = std::move(whole);
  }
  return *common;
}

// One snapshot of all servers. Not thread-safe.
class SavedShards {
 public:
  static absl::StatusOr<SavedShards> Open(Files* files,
                                          const std::string& directory,
                                          int num_servers, int64_t number);

  // Writes it as this many servers will look for it.
  absl::Status Deal(const std::string& directory, int num_servers) const;

 private:
  explicit SavedShards(Files* files) : files_(files) {}

  // Errors: also kDataLoss if there are other parts.
  absl::StatusOr<std::vector<int64_t>> BucketSizes() const;
  absl::StatusOr<std::string> Read(const std::string& slice) const;

  Files* files_;
  int64_t number_ = 0;
  JobConfig job_;
  std::map<std::string, Snapshot> owners_;  // By name of the slice.
};

absl::StatusOr<SavedShards> SavedShards::Open(Files* files,
                                              const std::string& directory,
                                              int num_servers, int64_t number) {
  SavedShards shards(files);
  shards.number_ = number;
  for (int i = 0; i < num_servers; ++i) {
    PS_ASSIGN_OR_RETURN(
        const Snapshot snapshot,
        OpenSnapshot(files, FolderOf(directory, i, num_servers), number));
    PS_ASSIGN_OR_RETURN(shards.job_, JobOfNote(snapshot.note));
    for (const SnapshotPart& part : snapshot.parts) {
      shards.owners_[part.name] = snapshot;
    }
  }
  return shards;
}

absl::StatusOr<std::string> SavedShards::Read(const std::string& slice) const {
  const auto owner = owners_.find(slice);
  if (owner == owners_.end()) {
    return absl::DataLossError(
        absl::StrCat("no server has ", slice, " in snapshot ", number_));
  }
  return ReadPart(files_, owner->second, slice);
}

absl::StatusOr<std::vector<int64_t>> SavedShards::BucketSizes() const {
  std::vector<int64_t> sizes;
  size_t found = 0;
  for (int b = 0; owners_.count(SliceName(b, 0)) > 0; ++b) {
    sizes.push_back(0);
    for (int i = 0; owners_.count(SliceName(b, i)) > 0; ++i) {
      PS_ASSIGN_OR_RETURN(const std::string bytes, Read(SliceName(b, i)));
      const absl::StatusOr<int64_t> elements = SliceState::NumElements(bytes);
      PS_RETURN_IF_ERROR(Annotate(elements.status(), SliceName(b, i)));
      sizes.back() += *elements;
      ++found;
    }
  }
  if (found == owners_.size()) return sizes;
  return absl::DataLossError(absl::StrCat("snapshot ", number_, " has ",
                                          owners_.size(), " parts; ", found,
                                          " are slices without gaps"));
}

absl::Status SavedShards::Deal(const std::string& directory,
                               int num_servers) const {
  ShardMapOptions options;
  PS_ASSIGN_OR_RETURN(options.bucket_sizes, BucketSizes());
  options.num_servers = num_servers;
  options.max_slice_elements = job_.cluster().max_slice_elements();
  PS_ASSIGN_OR_RETURN(const ShardMap map, ShardMap::Create(options));
  JobConfig job = job_;
  job.mutable_cluster()->set_num_servers(num_servers);
  for (int i = 0; i < num_servers; ++i) {
    PS_ASSIGN_OR_RETURN(
        SnapshotWriter writer,
        SnapshotWriter::Create(files_, FolderOf(directory, i, num_servers),
                               number_));
    for (int b = 0; b < map.num_buckets(); ++b) {
      for (const Slice& slice : map.slices(b)) {
        if (slice.server != i) continue;
        const std::string name = SliceName(b, slice.index);
        PS_ASSIGN_OR_RETURN(const std::string bytes, Read(name));
        PS_RETURN_IF_ERROR(writer.Add(name, bytes));
      }
    }
    PS_RETURN_IF_ERROR(writer.Commit(NoteOf(job)));
  }
  return absl::OkStatus();
}

absl::Status RemoveServers(Files* files, const std::string& directory,
                           int num_servers) {
  for (int i = 0; i < num_servers; ++i) {
    PS_RETURN_IF_ERROR(files->Remove(FolderOf(directory, i, num_servers)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Resharded> ReshardServers(Files* files,
                                         const std::string& directory,
                                         int num_servers) {
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                      files->List(directory));
  std::set<int> shapes = {num_servers};
  for (const std::string& name : names) {
    if (const auto shape = NumServersOf(name)) shapes.insert(*shape);
  }
  Resharded done;
  for (const int shape : shapes) {
    PS_ASSIGN_OR_RETURN(std::vector<int64_t> whole,
                        WholeSnapshots(files, directory, shape));
    if (whole.empty()) continue;
    // Of two with the same, the new one is complete, and was interrupted when
    // it removed the old one.
    const bool later =
        done.numbers.empty() || whole.back() > done.numbers.back() ||
        (whole.back() == done.numbers.back() && shape == num_servers);
    if (later) done = {shape, std::move(whole)};
  }
  if (done.numbers.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no snapshot in ", directory, " is whole on all servers"));
  }
  if (done.from_servers != num_servers) {
    PS_RETURN_IF_ERROR(RemoveServers(files, directory, num_servers));
    for (const int64_t number : done.numbers) {
      PS_ASSIGN_OR_RETURN(
          const SavedShards shards,
          SavedShards::Open(files, directory, done.from_servers, number));
      PS_RETURN_IF_ERROR(
          Annotate(shards.Deal(directory, num_servers), directory));
    }
  }
  shapes.erase(num_servers);
  for (const int shape : shapes) {
    PS_RETURN_IF_ERROR(RemoveServers(files, directory, shape));
  }
  return done;
}

}  // namespace ps
