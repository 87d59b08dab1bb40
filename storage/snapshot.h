// Writes and reads snapshots: files that a process writes atomically.
//
//     FOLDER/snapshot-120/NAME...    the saved parts
//     FOLDER/snapshot-120/manifest   "gradsieve-snapshot 1 CRC32C" of the bytes
//                                    that follow, and then JSON: the number, a
//                                    note, and each file's name, bytes and
//                                    CRC-32C
//
// A snapshot is written as snapshot-120.unfinished and renamed when everything
// has been synced; it is renamed to snapshot-120.removed.unfinished before it
// is removed, so that every folder with the name of a snapshot is a whole one.
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
  // A text besides the files, whose meaning its writer knows.
  std::string note;
  std::vector<SnapshotPart> parts;
};

// Writes a snapshot. Not thread-safe. The next RemoveOlder removes a snapshot
// that was not committed.
class SnapshotWriter {
 public:
  // Creates a snapshot. `files` is not owned. Errors: those of the file system.
  static absl::StatusOr<SnapshotWriter> Create(Files* files,
                                               const std::string& folder,
                                               int64_t number);

  // Writes one file. `name` is a file's name, not "manifest".
  absl::Status Add(const std::string& name, absl::string_view bytes);

  // Commits; must be the last call. Replaces a snapshot of the same number.
  absl::Status Commit(const std::string& note);

 private:
  SnapshotWriter(Files* files, const std::string& folder, int64_t number);
  absl::Status Write(const std::string& name, absl::string_view bytes);

  Files* files_;
  std::string unfinished_;
  Snapshot snapshot_;
};

// Returns the numbers of the snapshots in a folder, ascending; none if there is
// no folder. Some of them may be damaged.
absl::StatusOr<std::vector<int64_t>> ListSnapshots(Files* files,
                                                   const std::string& folder);

// Reads and checks the manifest. Errors: kDataLoss that names the damage; those
// of the file system.
absl::StatusOr<Snapshot> OpenSnapshot(Files* files, const std::string& folder,
                                      int64_t number);

// Reads and checks one file of a snapshot. Errors: those of OpenSnapshot;
// kNotFound if the snapshot has no such file.
absl::StatusOr<std::string> ReadPart(Files* files, const Snapshot& snapshot,
                                     const std::string& name);

// Reads and checks the manifest and all files.
absl::Status VerifySnapshot(Files* files, const std::string& folder,
                            int64_t number);

// Removes the snapshots with higher numbers.
absl::Status RemoveNewer(Files* files, const std::string& folder,
                         int64_t number);

// Removes unfinished snapshots, and all others but the `keep` latest and those
// from number `needed` on.
absl::Status RemoveOlder(Files* files, const std::string& folder, int keep,
                         int64_t needed);

}  // namespace ps

#endif  // STORAGE_SNAPSHOT_H_
