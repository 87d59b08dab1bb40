#include "tools/find_program.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {

namespace fs = std::filesystem;

absl::StatusOr<std::string> OwnProgram() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return absl::InternalError("/proc/self/exe cannot be read");
  return self.string();
}

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  PS_ASSIGN_OR_RETURN(const fs::path self, OwnProgram());
  const fs::path candidates[] = {
      self.parent_path() / name,
      self.parent_path().parent_path() / name / name,
  };
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (fs::is_regular_file(candidate, error)) return candidate.string();
  }
  return absl::NotFoundError(
      absl::StrCat("the program ", name, " is neither ", candidates[0].string(),
                   " nor ", candidates[1].string(),
                   "; build it with: bazel build --config=opt //", name));
}

}  // namespace ps
