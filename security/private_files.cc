#include "security/private_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ps {
namespace {

constexpr mode_t kGroup = S_IRWXG;
constexpr mode_t kOthers = S_IRWXO;

absl::Status Complain(const std::string& path, const struct stat& found,
                      absl::string_view rule, absl::string_view mode) {
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s belongs to user %d and has mode %04o; %s: chown %d %s; chmod %s %s",
      path, found.st_uid, found.st_mode & 07777, rule, geteuid(), path, mode,
      path));
}

}  // namespace

absl::Status CheckPrivateFolder(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  if (!S_ISDIR(found.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a folder"));
  }
  if (found.st_uid != geteuid() || (found.st_mode & (kGroup | kOthers)) != 0) {
    return Complain(path, found,
                    "whoever can open a socket there can join the job, so it "
                    "must be closed to all other users",
                    "700");
  }
  return absl::OkStatus();
}

absl::Status CheckPrivateKeyFile(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  if (!S_ISREG(found.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a regular file"));
  }
  const bool own =
      found.st_uid == geteuid() && (found.st_mode & (kGroup | kOthers)) == 0;
  const bool of_root =
      found.st_uid == 0 && (found.st_mode & (S_IWGRP | S_IXGRP | kOthers)) == 0;
  if (own || of_root) return absl::OkStatus();
  return Complain(path, found,
                  "whoever can read a key can join the job as its owner, so it "
                  "must be closed to all other users",
                  "600");
}

}  // namespace ps
