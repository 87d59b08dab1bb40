// Snapshots: files that a process writes at one moment, all of them or none.
//
//     FOLDER/snapshot-120/NAME...    what was saved
//     FOLDER/snapshot-120/manifest   "gradsieve-snapshot 1 CRC32C" of what
//                                    follows, and then JSON: the number, a
//                                    note, and each file's name, bytes and
//                                    CRC-32C
//
// A snapshot is written as snapshot-120.unfinished and renamed when everything
// has been synced; it is renamed to snapshot-120.removed.unfinished before it
// is removed, so that what has the name of a snapshot is a whole one.
#ifndef STORAGE_SNAPSHOT_H_
#define STORAGE_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/files.h"

namespace ps {

struct SnapshotPart {
  std::string name;
  int64_t size_bytes = 0;
  uint32_t crc32c = 0;
};

struct Snapshot {
  int64_t number = 0;  // At least 0; higher is later.
  std::string folder;  // FOLDER/snapshot-NUMBER.
  // What belongs to it besides the files; its writer knows what it means.
  std::string note;
  std::vector<SnapshotPart> parts;
};

// Not thread-safe. What was not committed is removed by the next RemoveOlder.
class SnapshotWriter {
 public:
  // `files` is not owned. Errors: those of the file system.
  static absl::StatusOr<SnapshotWriter> Create(Files* files,
                                               const std::string& folder,
                                               int64_t number);

  // Writes one file. `name` is a file's name, not "manifest".
  absl::Status Add(const std::string& name, absl::string_view bytes);

  // Must be the last call. Replaces a snapshot of the same number.
  absl::Status Commit(const std::string& note);

 private:
  SnapshotWriter(Files* files, const std::string& folder, int64_t number);
  absl::Status Write(const std::string& name, absl::string_view bytes);

  Files* files_;
  std::string unfinished_;
  Snapshot snapshot_;
};

// The numbers of the snapshots in a folder, ascending; none if there is no
// folder. Not all of them need be whole.
absl::StatusOr<std::vector<int64_t>> ListSnapshots(Files* files,
                                                   const std::string& folder);

// Reads and checks the manifest. Errors: kDataLoss that names what is damaged;
// those of the file system.
absl::StatusOr<Snapshot> OpenSnapshot(Files* files, const std::string& folder,
                                      int64_t number);

// Reads and checks one file of a snapshot. Errors: likewise; kNotFound if the
// snapshot has no such file.
absl::StatusOr<std::string> ReadPart(Files* files, const Snapshot& snapshot,
                                     const std::string& name);

// Reads and checks everything.
absl::Status VerifySnapshot(Files* files, const std::string& folder,
                            int64_t number);

// Removes the snapshots with higher numbers.
absl::Status RemoveNewer(Files* files, const std::string& folder,
                         int64_t number);

// Removes what was left unfinished, and all snapshots but the `keep` latest and
// those from number `needed` on.
absl::Status RemoveOlder(Files* files, const std::string& folder, int keep,
                         int64_t needed);

}  // namespace ps

#endif  // STORAGE_SNAPSHOT_H_
