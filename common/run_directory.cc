#include "common/run_directory.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/status_macros.h"

namespace ps {

namespace fs = std::filesystem;

namespace {

absl::Status CannotMake(const std::error_code& error, const std::string& path) {
  return absl::ErrnoToStatus(
      error.value(),
      absl::StrCat("cannot make the run directory ", path, " (--run-dir)"));
}

absl::Status IsTaken(const std::string& path) {
  return absl::AlreadyExistsError(absl::StrCat(
      "the run directory ", path,
      " is not empty; name another one with --run-dir, or remove it"));
}

}  // namespace

absl::StatusOr<std::string> MakeDefaultRunDirectory(const std::string& name) {
  // A name may hold anything, "../" for example.
  std::string safe = name;
  for (char& c : safe) {
    if (!absl::ascii_isalnum(c) && !absl::StrContains("._+-", c)) c = '_';
  }
  const std::string base = absl::StrCat(
      "runs/", safe, "-",
      absl::FormatTime("%Y%m%d-%H%M%S", absl::Now(), absl::LocalTimeZone()));
  std::error_code error;
  fs::create_directories("runs", error);
  std::string path = base;
  // create_directory creates a folder or says that there is one, atomically.
  for (int i = 2; !error && !fs::create_directory(path, error) && !error; ++i) {
    path = absl::StrCat(base, "-", i);
  }
  if (error) return CannotMake(error, path);
  return path;
}

absl::Status MakeFolderOfRuns(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  const bool is_empty = !error && fs::is_empty(path, error);
  if (error) return CannotMake(error, path);
  return is_empty ? absl::OkStatus() : IsTaken(path);
}

absl::Status MakeRunDirectory(const std::string& path) {
  PS_RETURN_IF_ERROR(MakeFolderOfRuns(path));
  // Another process may have found the folder empty at the same time.
  std::error_code error;
  if (fs::create_directory(path + "/logs", error)) return absl::OkStatus();
  return error ? CannotMake(error, path) : IsTaken(path);
}

std::string JobFileOf(const std::string& job_or_run) {
  std::error_code error;
  return fs::is_directory(job_or_run, error) ? job_or_run + "/job.textproto"
                                             : job_or_run;
}

}  // namespace ps
