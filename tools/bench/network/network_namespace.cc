#include "tools/bench/network/network_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

absl::Status Refused(int error) {
  if (error == EPERM || error == EACCES) {
    return absl::PermissionDeniedError(
        "making a network namespace needs root (CAP_SYS_ADMIN and "
        "CAP_NET_ADMIN), which this process does not have; run the same "
        "command with sudo or, where users may make user namespaces, after "
        "\"unshare --user --map-root-user\"");
  }
  if (error == EINVAL) {
    return absl::UnimplementedError(
        "this kernel has no network namespaces (CONFIG_NET_NS)");
  }
  return absl::ErrnoToStatus(error, "cannot make a network namespace");
}

}  // namespace

absl::StatusOr<NetworkNamespace> NetworkNamespace::Create() {
  UniqueFd fd;
  int error = 0;
  // unshare() moves the thread that calls it, and that one moves nobody else.
  std::thread([&fd, &error] {
    if (unshare(CLONE_NEWNET) == 0) {
      fd = UniqueFd(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
      if (fd.get() >= 0) return;
    }
    error = errno;
  }).join();
  if (error != 0) return Refused(error);
  return NetworkNamespace(std::move(fd));
}

std::string NetworkNamespace::path() const {
  return absl::StrCat("/proc/", getpid(), "/fd/", fd_.get());
}

std::string NetworkNamespace::id() const {
  std::error_code error;
  return std::filesystem::read_symlink(path(), error).string();
}

absl::Status NetworkNamespace::Run(
    const std::function<absl::Status()>& work) const {
  absl::Status status;
  std::thread([this, &work, &status] {
    if (setns(fd_.get(), CLONE_NEWNET) == 0) {
      status = work();
    } else {
      status = absl::ErrnoToStatus(errno, "cannot enter a network namespace");
    }
  }).join();
  return status;
}

}  // namespace ps
