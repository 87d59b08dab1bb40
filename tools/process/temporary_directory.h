// A folder that is removed with its owner.
#ifndef TOOLS_PROCESS_TEMPORARY_DIRECTORY_H_
#define TOOLS_PROCESS_TEMPORARY_DIRECTORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace ps {

class TemporaryDirectory {
 public:
  // Makes a new folder in $TMPDIR, or in /tmp, which only this user can access.
  // Errors: those of the system, with the path.
  static absl::StatusOr<std::unique_ptr<TemporaryDirectory>> Create();

  // Removes the folder and its contents.
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path);

  const std::string path_;
};

}  // namespace ps

#endif  // TOOLS_PROCESS_TEMPORARY_DIRECTORY_H_
