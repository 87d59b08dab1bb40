// A folder that goes with its owner.
#ifndef TOOLS_BENCH_PROCESSES_TEMPORARY_DIRECTORY_H_
#define TOOLS_BENCH_PROCESSES_TEMPORARY_DIRECTORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace ps {

class TemporaryDirectory {
 public:
  // A new folder, of this user alone, where the system keeps such ($TMPDIR, or
  // /tmp). Errors: what the system says, with the path.
  static absl::StatusOr<std::unique_ptr<TemporaryDirectory>> Create();

  // Removes it with all that is in it.
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path);

  const std::string path_;
};

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_TEMPORARY_DIRECTORY_H_
