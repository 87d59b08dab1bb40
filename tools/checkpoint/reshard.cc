#include "tools/checkpoint/reshard.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/slice_elements.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "proto/config.pb.h"
#include "server/slices/slice_options.h"
#include "server/slices/slice_state.h"
#include "storage/process_snapshots.h"
#include "storage/snapshot.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

// Of folders that are not complete yet, and that are no longer.
constexpr char kUnfinished[] = ".unfinished";
constexpr char kRemoved[] = ".removed";

std::string FolderOf(const std::string& directory, int server,
                     int num_servers) {
  return absl::StrCat(directory, "/", ServerProcess(server, num_servers));
}

// The folders of servers, by the number of servers.
using FoldersByServers = std::map<int, std::vector<std::string>>;

absl::StatusOr<FoldersByServers> FindFolders(Files* files,
                                             const std::string& directory) {
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                      files->List(directory));
  FoldersByServers folders;
  for (const std::string& name : names) {
    if (const auto num_servers = NumServersOf(name)) {
      folders[*num_servers].push_back(absl::StrCat(directory, "/", name));
    }
  }
  return folders;
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
      if (common.has_value() &&
          !std::binary_search(common->begin(), common->end(), number)) {
        LOG(WARNING) << "snapshot " << number << " in " << folder
                     << " is left out: other servers do not have it";
        continue;
      }
      const absl::Status status = VerifySnapshot(files, folder, number);
      if (status.ok()) {
        whole.push_back(number);
      } else if (absl::IsDataLoss(status) || absl::IsNotFound(status)) {
        LOG(ERROR) << "snapshot " << number
                   << " is left out: " << status.message();
      } else {
        // It may pass, and is no reason to go back.
        return status;
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

  // Writes it as this many servers will look for it, to unfinished folders.
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
  std::string note;
  for (int i = 0; i < num_servers; ++i) {
    const std::string folder = FolderOf(directory, i, num_servers);
    PS_ASSIGN_OR_RETURN(const Snapshot snapshot,
                        OpenSnapshot(files, folder, number));
    PS_ASSIGN_OR_RETURN(shards.job_, JobOfNote(snapshot.note));
    if (i == 0) note = snapshot.note;
    if (snapshot.note != note ||
        shards.job_.cluster().num_servers() != num_servers) {
      return absl::FailedPreconditionError(
          absl::StrCat(snapshot.folder, " is of another job than ",
                       FolderOf(directory, 0, num_servers)));
    }
    for (const SnapshotPart& part : snapshot.parts) {
      if (!shards.owners_.emplace(part.name, snapshot).second) {
        return absl::DataLossError(absl::StrCat("two servers have ", part.name,
                                                " in snapshot ", number));
      }
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
  std::vector<std::vector<std::string>> names(num_servers);
  if (number_ > 0) {  // The beginning is empty.
    ShardMapOptions options;
    PS_ASSIGN_OR_RETURN(options.bucket_sizes, BucketSizes());
    options.num_servers = num_servers;
    options.max_slice_elements = MaxSliceElements(job_);
    PS_ASSIGN_OR_RETURN(const ShardMap map, ShardMap::Create(options));
    size_t dealt = 0;
    for (int b = 0; b < map.num_buckets(); ++b) {
      for (const Slice& slice : map.slices(b)) {
        names[slice.server].push_back(SliceName(b, slice.index));
        ++dealt;
      }
    }
    if (dealt != owners_.size()) {
      return absl::DataLossError(
          absl::StrCat("snapshot ", number_, " has ", owners_.size(),
                       " slices; its buckets make ", dealt));
    }
  }
  JobConfig job = job_;
  job.mutable_cluster()->set_num_servers(num_servers);
  for (int i = 0; i < num_servers; ++i) {
    const std::string folder = FolderOf(directory, i, num_servers);
    PS_ASSIGN_OR_RETURN(
        SnapshotWriter writer,
        SnapshotWriter::Create(files_, folder + kUnfinished, number_));
    for (const std::string& name : names[i]) {
      PS_ASSIGN_OR_RETURN(const std::string bytes, Read(name));
      PS_RETURN_IF_ERROR(writer.Add(name, bytes));
    }
    PS_RETURN_IF_ERROR(writer.Commit(NoteOf(job, /*data_text=*/"")));
  }
  return absl::OkStatus();
}

// By folder.
using Locks = std::map<std::string, std::unique_ptr<FileLock>>;

// A folder that is half removed must not look like a server's.
absl::Status RemoveFolder(Files* files, const std::string& folder,
                          Locks* locks) {
  PS_RETURN_IF_ERROR(files->Rename(folder, folder + kRemoved));
  // Network file systems keep the folder of a file that is open.
  locks->erase(folder);
  return files->Remove(folder + kRemoved);
}

bool ConsumeLeftover(absl::string_view* name) {
  return absl::ConsumeSuffix(name, kUnfinished) ||
         absl::ConsumeSuffix(name, kRemoved);
}

// What an interruption has left.
absl::Status RemoveLeftovers(Files* files, const std::string& directory) {
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                      files->List(directory));
  for (const std::string& name : names) {
    absl::string_view process = name;
    if (ConsumeLeftover(&process) && NumServersOf(process).has_value()) {
      PS_RETURN_IF_ERROR(files->Remove(absl::StrCat(directory, "/", name)));
    }
  }
  return absl::OkStatus();
}

absl::Status DealAll(Files* files, const std::string& directory,
                     const Resharded& source, int num_servers) {
  for (const int64_t number : source.numbers) {
    PS_ASSIGN_OR_RETURN(
        const SavedShards shards,
        SavedShards::Open(files, directory, source.from_servers, number));
    PS_RETURN_IF_ERROR(
        Annotate(shards.Deal(directory, num_servers), directory));
  }
  return absl::OkStatus();
}

// The servers whose latest whole snapshot is the latest; of two with the same,
// those of `num_servers`, which are complete, while the others were about to be
// removed.
absl::StatusOr<Resharded> ChooseSource(Files* files,
                                       const std::string& directory,
                                       const FoldersByServers& folders,
                                       int num_servers) {
  Resharded source;
  for (const auto& shape : folders) {
    PS_ASSIGN_OR_RETURN(std::vector<int64_t> whole,
                        WholeSnapshots(files, directory, shape.first));
    if (whole.empty() || whole.back() == 0) continue;
    if (source.numbers.empty() || whole.back() > source.numbers.back() ||
        (whole.back() == source.numbers.back() && shape.first == num_servers)) {
      source = {shape.first, std::move(whole)};
    }
  }
  if (!source.numbers.empty()) return source;
  return absl::NotFoundError(
      absl::StrCat("no snapshot in ", directory, " is whole on all servers"));
}

// Whether nothing later than the source would be removed.
absl::Status CheckOthers(Files* files, const FoldersByServers& folders,
                         const Resharded& source) {
  for (const auto& shape : folders) {
    if (shape.first == source.from_servers) continue;
    for (const std::string& folder : shape.second) {
      PS_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers,
                          ListSnapshots(files, folder));
      if (numbers.empty() || numbers.back() <= source.numbers.back()) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          folder, " has snapshot ", numbers.back(),
          ", but the latest that is whole on all servers is ",
          source.numbers.back(), ", of ", source.from_servers,
          ". Bring back the folders of the other servers, or remove this one"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool HasOtherShards(Files* files, const std::string& directory,
                    int num_servers) {
  const auto names = files->List(directory);
  if (!names.ok()) return false;
  for (const std::string& name : *names) {
    absl::string_view process = name;
    const bool leftover = ConsumeLeftover(&process);
    const auto servers = NumServersOf(process);
    if (servers.has_value() && (leftover || servers != num_servers)) {
      return true;
    }
  }
  return false;
}

absl::StatusOr<Resharded> ReshardServers(Files* files,
                                         const std::string& directory,
                                         int num_servers) {
  PS_ASSIGN_OR_RETURN(FoldersByServers folders, FindFolders(files, directory));
  Locks locks;
  for (const auto& shape : folders) {
    for (const std::string& folder : shape.second) {
      PS_ASSIGN_OR_RETURN(locks[folder], LockProcess(files, folder));
    }
  }
  PS_ASSIGN_OR_RETURN(const Resharded source,
                      ChooseSource(files, directory, folders, num_servers));
  PS_RETURN_IF_ERROR(CheckOthers(files, folders, source));
  PS_RETURN_IF_ERROR(RemoveLeftovers(files, directory));
  if (source.from_servers != num_servers) {
    const absl::Status dealt = DealAll(files, directory, source, num_servers);
    if (!dealt.ok()) {
      // A disk that is full must not stay so.
      RemoveLeftovers(files, directory).IgnoreError();
      return dealt;
    }
    for (const std::string& folder : folders[num_servers]) {
      PS_RETURN_IF_ERROR(RemoveFolder(files, folder, &locks));
    }
    for (int i = 0; i < num_servers; ++i) {
      const std::string folder = FolderOf(directory, i, num_servers);
      PS_RETURN_IF_ERROR(files->Rename(folder + kUnfinished, folder));
    }
  }
  for (const auto& shape : folders) {
    if (shape.first == num_servers) continue;
    for (const std::string& folder : shape.second) {
      PS_RETURN_IF_ERROR(RemoveFolder(files, folder, &locks));
    }
  }
  return source;
}

}  // namespace ps
