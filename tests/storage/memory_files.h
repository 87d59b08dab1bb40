// A file system in memory that can fail, and lose what was not synced.
#ifndef TESTS_STORAGE_MEMORY_FILES_H_
#define TESTS_STORAGE_MEMORY_FILES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "storage/files.h"

namespace ps {

// Folders exist as long as they have files. Not thread-safe.
class MemoryFiles final : public Files {
 public:
  absl::StatusOr<std::unique_ptr<OutputFile>> Create(
      const std::string& path) override;
  absl::StatusOr<std::unique_ptr<OutputFile>> Continue(const std::string& path,
                                                       int64_t size) override;
  absl::StatusOr<std::string> Read(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) override;
  absl::Status MakeFolder(const std::string& path) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(
      const std::string& path) override;
  absl::Status Remove(const std::string& path) override;

  // After this many more changes every change fails as on a full disk; half of
  // the bytes of the first one that fails are written.
  void FailAfter(int64_t changes) { changes_left_ = changes; }
  void StopFailing() { changes_left_ = -1; }
  // Whether a change has failed since FailAfter.
  bool failed() const { return changes_left_ == 0; }

  // Reading this file fails as on a bad sector.
  void FailToRead(const std::string& path) { unreadable_ = path; }

  // Cuts every file to what was synced.
  void LosePower();

  struct Content {
    std::string bytes;
    size_t synced = 0;
  };
  // By path.
  std::map<std::string, Content>& contents() { return contents_; }

 private:
  class Output;
  class Held;

  // OK, or the failure of a full disk.
  absl::Status Change(const std::string& path);

  std::map<std::string, Content> contents_;
  std::set<std::string> locked_;
  std::string unreadable_;
  int64_t changes_left_ = -1;  // Below 0: no limit.
};

}  // namespace ps

#endif  // TESTS_STORAGE_MEMORY_FILES_H_
