#include "tools/process/find_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace ps {

namespace fs = std::filesystem;

namespace {

// The folder in which a bundle keeps programs that must be started by a
// launcher. The launcher has the same name and lies beside this folder
// (tools/bundling/launch.sh).
constexpr char kLaunchedFolder[] = "elf";

}  // namespace

absl::StatusOr<std::string> FileOfCode(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  // begin-end permissions offset device inode path
  for (std::string line; std::getline(maps, line);) {
    const std::vector<std::string> range =
        absl::StrSplit(line.substr(0, line.find(' ')), '-');
    uint64_t begin = 0, end = 0;
    if (range.size() != 2 || !absl::SimpleHexAtoi(range[0], &begin) ||
        !absl::SimpleHexAtoi(range[1], &end) || wanted < begin ||
        wanted >= end) {
      continue;
    }
    const size_t path = line.find('/');
    if (path != std::string::npos) return line.substr(path);
  }
  return absl::InternalError(
      "/proc/self/maps does not say where this program is; is /proc mounted?");
}

std::string StartedAs(const std::string& file) {
  const fs::path path(file);
  const fs::path folder = path.parent_path();
  if (folder.filename() != kLaunchedFolder) return file;
  const fs::path launcher = folder.parent_path() / path.filename();
  std::error_code error;
  return fs::is_regular_file(launcher, error) ? launcher.string() : file;
}

absl::StatusOr<std::string> OwnProgram() {
  // Not /proc/self/exe, which is the loader if a launcher started the program.
  PS_ASSIGN_OR_RETURN(const std::string file,
                      FileOfCode(reinterpret_cast<const void*>(&OwnProgram)));
  return StartedAs(file);
}

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  PS_ASSIGN_OR_RETURN(const fs::path self, OwnProgram());
  const fs::path candidates[] = {
      self.parent_path() / name,
      self.parent_path().parent_path() / name / name,
  };
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (!fs::is_regular_file(candidate, error)) continue;
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot run ", candidate.string()));
  }
  return absl::NotFoundError(
      absl::StrCat("the program ", name, " is neither ", candidates[0].string(),
                   " nor ", candidates[1].string(),
                   "; build it with: bazel build --config=opt //", name));
}

}  // namespace ps
