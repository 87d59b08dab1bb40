// The interface of the file system, for files of a process that must survive
// it. A test or a simulation can replace it by one that fails or loses data.
#ifndef STORAGE_FILES_H_
#define STORAGE_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ps {

// A file that is being written, at its end. Not thread-safe.
class OutputFile {
 public:
  // Closes the file. Appended bytes that were not synced survive the process,
  // but not a loss of power.
  virtual ~OutputFile() = default;

  // Appends all pieces, in one call of the system if it takes them. On an error
  // a part of them may have been written.
  virtual absl::Status Append(absl::Span<const absl::string_view> pieces) = 0;
  // Makes the appended bytes survive a loss of power. May run beside Append.
  virtual absl::Status Sync() = 0;
};

// A lock on a file, held until this object or its process ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// A file system. Thread-safe. All errors name the path, and have the code that
// absl gives to errno: kNotFound, kPermissionDenied, kResourceExhausted for a
// full disk.
class Files {
 public:
  virtual ~Files() = default;

  // Returns this machine's file system.
  static Files* Real();

  // Creates a new, empty file; kAlreadyExists if there is one.
  virtual absl::StatusOr<std::unique_ptr<OutputFile>> Create(
      const std::string& path) = 0;
  // Opens an existing file, to append after its first `size` bytes; the rest is
  // cut off.
  virtual absl::StatusOr<std::unique_ptr<OutputFile>> Continue(
      const std::string& path, int64_t size) = 0;
  virtual absl::StatusOr<std::string> Read(const std::string& path) = 0;
  // Returns the names in a folder, ascending.
  virtual absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) = 0;
  // Creates a folder and those above it; does nothing if it exists. Survives a
  // loss of power.
  virtual absl::Status MakeFolder(const std::string& path) = 0;
  // Renames a file or folder within one file system; the new name must not
  // exist. Survives a loss of power, and so do the names of all files in that
  // folder.
  virtual absl::Status Rename(const std::string& from,
                              const std::string& to) = 0;
  // Locks a file, which is created if there is none, against other processes
  // and other callers. kUnavailable if one of them has it; kUnimplemented if
  // this file system has no locks.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> Lock(
      const std::string& path) = 0;
  // Removes a file, or a folder with all that it contains. Does nothing if
  // there is none.
  virtual absl::Status Remove(const std::string& path) = 0;
};

}  // namespace ps

#endif  // STORAGE_FILES_H_
