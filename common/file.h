// Reads and writes whole files, with errors that name the file.
#ifndef COMMON_FILE_H_
#define COMMON_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// Reads a whole file. Errors name the path and the system's reason: kNotFound
// if it does not exist or is a folder, kPermissionDenied, otherwise the code
// that absl gives to errno; kResourceExhausted for a file that is larger than
// the machine's memory, or a pipe or device that gives more than 1 GiB.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Like ReadFile, for data and weights, which may be large: returns kNotFound
// for a pipe or a device, without waiting for it.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path);

// A file that appears under its name complete or not at all, even if the
// machine loses power: it is written under a temporary name in the same folder,
// synced and renamed over any existing file, and then the folder is synced. Not
// thread-safe. Two writers of one path do not disturb each other; the last to
// commit wins. A link is followed; a device or a pipe is written at once and
// not replaced.
class AtomicFile {
 public:
  // Creates the temporary file. A new file has the permissions of `mode` that
  // the umask allows. Errors: those of ReadFile; kNotFound if the folder does
  // not exist.
  static absl::StatusOr<AtomicFile> Create(const std::string& path,
                                           unsigned mode = 0666);

  // Removes the temporary file, unless Commit() was called.
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  absl::Status Append(absl::string_view bytes);

  // Replaces bytes that were appended earlier, from `offset` on, such as a
  // count in a header that is known only at the end.
  absl::Status Overwrite(int64_t offset, absl::string_view bytes);

  // Renames the file; must be the last call. On an error the temporary file is
  // removed; `path` holds the old file, or the new one if only the folder could
  // not be synced.
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary_path, int fd);

  // Closes and removes the temporary file if it is not committed.
  void Abandon();

  std::string path_;
  std::string temporary_path_;  // Empty for a device or a pipe.
  int fd_ = -1;  // The temporary file; -1 when committed or moved from.
};

// Creates, writes and commits an AtomicFile.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view bytes);

}  // namespace ps

#endif  // COMMON_FILE_H_
