#include "transport/connections/listening_sockets.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/host_and_port.h"
#include "common/status_macros.h"

namespace ps {
namespace {

absl::StatusOr<UniqueFd> BindAndListen(const sockaddr* address,
                                       socklen_t length) {
  UniqueFd fd(socket(address->sa_family,
                     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (fd.get() < 0 ||
      setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(fd.get(), address, length) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0) {
    return absl::UnavailableError(std::strerror(errno));
  }
  return fd;
}

absl::StatusOr<UniqueFd> ListenOnUnixSocket(const std::string& address) {
  const absl::string_view path = absl::StripPrefix(address, "unix:");
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), path.size());
  const auto* const generic = reinterpret_cast<const sockaddr*>(&name);
  // Another server may look for the same name, or remove it: lock the folder.
  const size_t end = path.rfind('/');
  const std::string folder(end == absl::string_view::npos ? "."
                           : end == 0                     ? "/"
                                      : path.substr(0, end));
  const UniqueFd lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.get() < 0 || flock(lock.get(), LOCK_EX) != 0) {
    return absl::UnavailableError(std::strerror(errno));
  }
  // A killed server's socket refuses connections, and must be removed.
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(probe.get(), generic, sizeof(name)) != 0 &&
      errno == ECONNREFUSED) {
    unlink(name.sun_path);
  }
  return BindAndListen(generic, sizeof(name));
}

void SetPort(sockaddr* address, int port) {
  reinterpret_cast<sockaddr_in*>(address)->sin_port =
      htons(static_cast<uint16_t>(port));
}

// Listens on all addresses of the host, on the same port.
absl::StatusOr<std::vector<UniqueFd>> ListenOnTcp(const std::string& address) {
  const std::optional<HostAndPort> wanted = ParseHostAndPort(address);
  if (!wanted.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" ", kHostAndPortRule));
  }
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(
      wanted->host.c_str(), absl::StrCat(wanted->port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found,
                                                             freeaddrinfo);
  std::vector<UniqueFd> sockets;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (!sockets.empty()) SetPort(each->ai_addr, PortOf(sockets[0].get()));
    absl::StatusOr<UniqueFd> fd =
        BindAndListen(each->ai_addr, each->ai_addrlen);
    // A host may have a name for a protocol that this machine does not speak.
    if (!fd.ok() && each->ai_family == AF_INET6 &&
        (each->ai_next != nullptr || !sockets.empty())) {
      continue;
    }
    PS_RETURN_IF_ERROR(fd.status());
    sockets.push_back(*std::move(fd));
  }
  return sockets;
}

}  // namespace

absl::StatusOr<std::vector<UniqueFd>> ListenAt(const std::string& address) {
  if (!IsUnixSocket(address)) return ListenOnTcp(address);
  std::vector<UniqueFd> sockets;
  PS_ASSIGN_OR_RETURN(UniqueFd fd, ListenOnUnixSocket(address));
  sockets.push_back(std::move(fd));
  return sockets;
}

int PortOf(const sockaddr_storage& address) {
  // The port is at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

int PortOf(int fd) {
  sockaddr_storage name = {};
  socklen_t length = sizeof(name);
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length);
  return PortOf(name);
}

}  // namespace ps
