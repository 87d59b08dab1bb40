#include "common/run_directory.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace ps {

namespace fs = std::filesystem;

std::string DefaultRunDirectory(const std::string& name) {
  // A name may hold anything, "../" for example.
  std::string safe = name;
  for (char& c : safe) {
    if (!absl::ascii_isalnum(c) && !absl::StrContains("._+-", c)) c = '_';
  }
  const std::string path = absl::StrCat(
      "runs/", safe, "-",
      absl::FormatTime("%Y%m%d-%H%M%S", absl::Now(), absl::LocalTimeZone()));
  std::error_code error;
  std::string free = path;
  for (int i = 2; fs::exists(free, error); ++i) {
    free = absl::StrCat(path, "-", i);
  }
  return free;
}

absl::Status MakeRunDirectory(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_empty(path, error)) {
    return absl::AlreadyExistsError(absl::StrCat(
        "the run directory ", path,
        " is not empty; name another one with --run-dir, or remove it"));
  }
  fs::create_directories(path, error);
  if (error) {
    return absl::ErrnoToStatus(
        error.value(), absl::StrCat("cannot make the run directory ", path,
                                    ", as --run-dir says"));
  }
  return absl::OkStatus();
}

}  // namespace ps
