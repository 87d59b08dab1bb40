#include "server/acceptor.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/host_and_port.h"
#include "common/log_limit.h"
#include "common/status_macros.h"
#include "glog/logging.h"

namespace ps {
namespace {

// Of the log about refused connections.
constexpr int kLogLines = 20;
constexpr absl::Duration kLogInterval = absl::Seconds(10);
// When descriptors or memory are short, others must give some back first.
constexpr int kShortageMilliseconds = 100;

// A socket that gRPC has, and closes when it likes.
struct Connection {
  int fd = -1;
  ino_t inode = 0;
  std::string host;
};

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
  // One that a killed server has left is refused connections, and in the way.
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(probe.get(), generic, sizeof(name)) != 0 &&
      errno == ECONNREFUSED) {
    unlink(name.sun_path);
  }
  return BindAndListen(generic, sizeof(name));
}

int PortOf(int fd) {
  sockaddr_storage name = {};
  socklen_t length = sizeof(name);
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length);
  // At the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
}

void SetPort(sockaddr* address, int port) {
  reinterpret_cast<sockaddr_in*>(address)->sin_port =
      htons(static_cast<uint16_t>(port));
}

// On all addresses of the host, and on the same port.
absl::StatusOr<std::vector<UniqueFd>> ListenOnTcp(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(),
                                &hints, &found);
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

std::string HostOf(const sockaddr_storage& peer) {
  char text[NI_MAXHOST] = "";
  if (peer.ss_family == AF_UNIX ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&peer), sizeof(peer), text,
                  sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  return text;
}

class SocketAcceptor final : public Acceptor {
 public:
  SocketAcceptor(const AcceptorOptions& options, std::vector<UniqueFd> sockets)
      : options_(options),
        sockets_(std::move(sockets)),
        port_(IsUnixSocket(options.address) ? 0 : PortOf(sockets_[0].get())),
        stop_(eventfd(0, EFD_CLOEXEC)),
        refused_(kLogLines, kLogInterval) {}

  ~SocketAcceptor() override { Stop(); }

  int port() const override { return port_; }

  void Run(Take take) override {
    thread_ = std::thread([this, take = std::move(take)] { Loop(take); });
  }

  void Stop() override {
    if (!thread_.joinable()) return;
    eventfd_write(stop_.get(), 1);
    thread_.join();
    for (UniqueFd& socket : sockets_) socket.Close();
  }

 private:
  void Loop(const Take& take) {
    std::vector<pollfd> polled = {{stop_.get(), POLLIN, 0}};
    for (const UniqueFd& socket : sockets_) {
      polled.push_back({socket.get(), POLLIN, 0});
    }
    int timeout = -1;
    for (;;) {
      // In a shortage the listening sockets stay readable.
      const size_t count = timeout < 0 ? polled.size() : 1;
      poll(polled.data(), count, timeout);
      if (polled[0].revents != 0) return;
      timeout = -1;
      for (size_t i = 1; i < polled.size(); ++i) {
        if (!AcceptOne(polled[i].fd, take)) timeout = kShortageMilliseconds;
      }
    }
  }

  // Returns false if the process has no room for a connection now.
  bool AcceptOne(int socket, const Take& take) {
    sockaddr_storage peer = {};
    socklen_t length = sizeof(peer);
    UniqueFd fd(accept4(socket, reinterpret_cast<sockaddr*>(&peer), &length,
                        SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.get() < 0) {
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
          errno != ENOMEM) {
        return true;
      }
      Refuse(absl::StrCat("cannot accept a connection now: ",
                          std::strerror(errno)));
      return false;
    }
    Connection connection;
    connection.host = HostOf(peer);
    if (IsFull(connection.host)) return true;
    struct stat found = {};
    fstat(fd.get(), &found);
    connection.inode = found.st_ino;
    connection.fd = fd.Release();
    const int on = 1;
    // Fails for Unix-domain sockets, which need it not.
    setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    open_.push_back(connection);
    take(connection.fd);
    return true;
  }

  // Whether a connection from this host would be one too many.
  bool IsFull(const std::string& host) {
    const auto from_host = [&] {
      int count = 0;
      for (const Connection& each : open_) count += each.host == host ? 1 : 0;
      return count;
    };
    const auto over = [&] {
      return static_cast<int>(open_.size()) >= options_.max_connections ||
             from_host() >= options_.max_connections_per_host;
    };
    if (!over()) return false;
    ForgetClosed();
    if (!over()) return false;
    Refuse(absl::StrCat(
        "refused a connection from ", host.empty() ? "this machine" : host,
        ": ", open_.size(), " are open, ", from_host(), " of them from there"));
    return true;
  }

  // Nobody says when gRPC closes a socket; the number then has another inode,
  // or none.
  void ForgetClosed() {
    std::vector<Connection> still_open;
    for (const Connection& each : open_) {
      struct stat found = {};
      if (fstat(each.fd, &found) == 0 && found.st_ino == each.inode) {
        still_open.push_back(each);
      }
    }
    open_.swap(still_open);
  }

  void Refuse(const std::string& text) {
    refused_.Log(text, [](const std::string& line) { LOG(WARNING) << line; });
  }

  const AcceptorOptions options_;
  std::vector<UniqueFd> sockets_;
  const int port_;
  const UniqueFd stop_;
  LogLimit refused_;
  std::vector<Connection> open_;  // Only for the thread.
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Listen(
    const AcceptorOptions& options) {
  std::vector<UniqueFd> sockets;
  if (IsUnixSocket(options.address)) {
    PS_ASSIGN_OR_RETURN(UniqueFd fd, ListenOnUnixSocket(options.address));
    sockets.push_back(std::move(fd));
  } else {
    PS_ASSIGN_OR_RETURN(sockets, ListenOnTcp(options.address));
  }
  return std::make_unique<SocketAcceptor>(options, std::move(sockets));
}

}  // namespace ps
