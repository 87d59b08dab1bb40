#include "transport/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"

namespace ps {

std::string NewUnixSocketName() {
  std::random_device random;
  const uint64_t number = (uint64_t{random()} << 32) | random();
  return absl::StrCat("gradsieve-", getpid(), "-", absl::Hex(number));
}

std::string UnixSocketAddress(const std::string& name) {
  return absl::StrCat("unix-abstract:", name);
}

bool UnixSocketAnswers(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // A name in the abstract namespace begins with a zero byte.
  if (name.empty() || name.size() + 1 > sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool answers =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0;
  close(fd);
  return answers;
}

}  // namespace ps
