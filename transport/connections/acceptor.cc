#include "transport/connections/acceptor.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/clock.h"
#include "common/host_and_port.h"
#include "common/log_limit.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "common/thread.h"
#include "glog/logging.h"
#include "transport/connections/handshake_pace.h"
#include "transport/connections/listening_sockets.h"

namespace ps {
namespace {

// The rate limit of log lines about refused connections.
constexpr int kLogLines = 20;
constexpr absl::Duration kLogInterval = absl::Seconds(10);
// The pause when descriptors or memory are short, until others are released.
constexpr int kShortageMilliseconds = 100;

// The header of a TLS record and the type of the handshake message in it.
constexpr int kHelloBytes = 6;

// A socket of gRPC, which closes it at any time; or, while it waits for its
// first bytes, one of ours.
struct Connection {
  int fd = -1;
  bool waits = false;
  ino_t inode = 0;
  // The time when a waiting connection may begin its handshake.
  absl::Time not_before = absl::InfinitePast();
  std::string host;
  int64_t number = 0;  // The order of arrival.
  absl::Time accepted;
  bool known = false;
};

// Whether these are the first bytes of a client that speaks TLS 1.2 or 1.3: a
// record of type 22 (handshake) and version 3.x with a message of type 1
// (ClientHello). RFC 8446, sections 4 and 5.1.
bool BeginsHandshake(const unsigned char* bytes, ssize_t count) {
  return count == kHelloBytes && bytes[0] == 22 && bytes[1] == 3 &&
         bytes[2] <= 4 && bytes[5] == 1;
}

// Makes poll() report the socket once it has this many bytes, or has ended.
void ReportFrom(int fd, int bytes) {
  setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

// Returns the host; like gRPC, shows IPv4 addresses over IPv6 as such.
std::string HostOf(const sockaddr_storage& peer) {
  char text[NI_MAXHOST] = "";
  if (peer.ss_family == AF_UNIX ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&peer), sizeof(peer), text,
                  sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  return std::string(absl::StripPrefix(text, "::ffff:"));
}

// Returns HOST:PORT of gRPC's "ipv4:HOST:PORT" or "ipv6:%5BHOST%5D:PORT".
std::string AddressOf(absl::string_view peer) {
  const bool tcp = absl::ConsumePrefix(&peer, "ipv4:") ||
                   absl::ConsumePrefix(&peer, "ipv6:");
  if (!tcp) return "";
  return absl::StrReplaceAll(peer,
                             {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}});
}

class SocketAcceptor final : public Acceptor {
 public:
  SocketAcceptor(const AcceptorOptions& options, std::vector<UniqueFd> sockets)
      : options_(options),
        sockets_(std::move(sockets)),
        port_(IsUnixSocket(options.address) ? 0 : PortOf(sockets_[0].get())),
        stop_(eventfd(0, EFD_CLOEXEC)),
        refused_(kLogLines, kLogInterval),
        pace_(options.max_connections_per_host, options.handshake_time) {}

  ~SocketAcceptor() override { Stop(); }

  int port() const override { return port_; }

  void Run(Take take) override {
    thread_ =
        Thread("acceptor", [this, take = std::move(take)] { Loop(take); });
  }

  void Know(absl::string_view peer) override {
    MutexLock lock(&mu_);
    const auto found = open_.find(AddressOf(peer));
    if (found != open_.end()) found->second.known = true;
  }

  void Drop(absl::string_view peer) override {
    MutexLock lock(&mu_);
    const auto found = open_.find(AddressOf(peer));
    if (found == open_.end()) return;
    Refuse(absl::StrCat("closed the connection from ", found->first,
                        ", which had too many calls under way"));
    Close(found);
  }

  void Stop() override {
    if (!thread_.joinable()) return;
    eventfd_write(stop_.get(), 1);
    thread_.Join();
    for (UniqueFd& socket : sockets_) socket.Close();
    MutexLock lock(&mu_);
    for (auto it = open_.begin(); it != open_.end();) {
      const auto here = it++;
      if (here->second.waits) Close(here);
    }
  }

 private:
  using Connections = absl::flat_hash_map<std::string, Connection>;

  void Loop(const Take& take) {
    bool shortage = false;
    std::vector<pollfd> polled;
    std::vector<std::string> waiting;
    for (;;) {
      polled = {{stop_.get(), POLLIN, 0}};
      for (const UniqueFd& socket : sockets_) {
        // In a shortage the listening sockets stay readable.
        polled.push_back(
            {socket.get(), static_cast<short>(shortage ? 0 : POLLIN), 0});
      }
      const int timeout = AddWaiting(&polled, &waiting);
      poll(polled.data(), polled.size(),
           shortage ? kShortageMilliseconds : timeout);
      if (polled[0].revents != 0) return;
      size_t next = 1 + sockets_.size();
      for (const std::string& name : waiting) {
        const short events = polled[next++].revents;
        if (events != 0) Examine(name, (events & ~POLLIN) != 0, take);
      }
      CloseSilent();
      const bool was_shortage = shortage;
      shortage = false;
      for (size_t i = 0; i < sockets_.size(); ++i) {
        if (!was_shortage && polled[1 + i].revents == 0) continue;
        shortage = !AcceptOne(sockets_[i].get(), take) || shortage;
      }
    }
  }

  // Adds the connections that wait for their first bytes, and lists their
  // names. Returns the milliseconds until the first of them has waited too
  // long, or -1.
  int AddWaiting(std::vector<pollfd>* polled,
                 std::vector<std::string>* waiting) {
    waiting->clear();
    absl::Time next = absl::InfiniteFuture();
    const absl::Time now = SteadyClock()->Now();
    MutexLock lock(&mu_);
    for (const auto& [name, connection] : open_) {
      if (!connection.waits) continue;
      const bool paced = connection.not_before > now;
      next = std::min(next, connection.accepted + options_.handshake_time);
      if (paced) next = std::min(next, connection.not_before);
      waiting->push_back(name);
      polled->push_back(
          {connection.fd,
           static_cast<short>(paced ? POLLRDHUP : POLLIN | POLLRDHUP), 0});
    }
    if (waiting->empty()) return -1;
    return static_cast<int>(
        std::max<int64_t>(0, absl::ToInt64Milliseconds(next - now) + 1));
  }

  // Handles a connection that has its first bytes, or `ended`.
  void Examine(const std::string& name, bool ended, const Take& take) {
    MutexLock lock(&mu_);
    const auto found = open_.find(name);
    if (found == open_.end() || !found->second.waits) return;
    const int fd = found->second.fd;
    unsigned char bytes[kHelloBytes] = {};
    const bool begins =
        BeginsHandshake(bytes, recv(fd, bytes, sizeof(bytes), MSG_PEEK));
    if (begins && ended) {
      Close(found);
      return;
    }
    if (begins) {
      const absl::Time now = SteadyClock()->Now();
      found->second.not_before = pace_.Next(found->second.host, now);
      if (found->second.not_before > now) return;
      ReportFrom(fd, 1);
      found->second.waits = false;
      take(fd);
      return;
    }
    Refuse(absl::StrCat("closed the connection from ", name,
                        ", which does not speak TLS"));
    Close(found);
  }

  // Closes the connections that have waited too long.
  void CloseSilent() {
    const absl::Time now = SteadyClock()->Now();
    MutexLock lock(&mu_);
    for (auto it = open_.begin(); it != open_.end();) {
      const auto here = it++;
      const Connection& connection = here->second;
      if (connection.waits &&
          now - connection.accepted >= options_.handshake_time) {
        const bool spoke = connection.not_before > absl::InfinitePast();
        Refuse(absl::StrCat("closed the connection from ", here->first,
                            spoke ? ", whose host has begun too many handshakes"
                                  : ", which said nothing"));
        Close(here);
      }
    }
  }

  // Accepts a connection; returns false if resources are short.
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
    MutexLock lock(&mu_);
    Connection connection;
    connection.host = HostOf(peer);
    if (!MakeRoom(connection.host)) return true;
    struct stat found = {};
    fstat(fd.get(), &found);
    connection.inode = found.st_ino;
    connection.fd = fd.Release();
    connection.number = ++num_accepted_;
    connection.accepted = SteadyClock()->Now();
    const int on = 1;
    // This fails for Unix-domain sockets, which do not need it.
    setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const std::string name =
        connection.host.empty()
            ? absl::StrCat("#", connection.number)
            : absl::StrCat(connection.host, ":", PortOf(peer));
    connection.waits = options_.tls_only && !connection.host.empty();
    // A name is free again when the connection that had it has ended.
    const auto before = open_.find(name);
    if (before != open_.end() && before->second.waits) {
      close(before->second.fd);
    }
    open_[name] = connection;
    if (connection.waits) {
      ReportFrom(connection.fd, kHelloBytes);
    } else {
      take(connection.fd);
    }
    return true;
  }

  // Closes another connection if necessary; returns false if it cannot.
  bool MakeRoom(const std::string& host) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!IsFull(host)) return true;
    ForgetClosed();
    if (!IsFull(host)) return true;
    const std::string from =
        absl::StrCat(host.empty() ? "this machine" : host, ": ", open_.size(),
                     " are open, ", CountFrom(host), " of them from there");
    if (CloseOldestStranger(host)) {
      Refuse(absl::StrCat(
          "closed the oldest stranger's connection for one from ", from));
      return true;
    }
    Refuse(absl::StrCat("refused a connection from ", from));
    return false;
  }

  int CountFrom(const std::string& host) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    int count = 0;
    for (const auto& each : open_) count += each.second.host == host ? 1 : 0;
    return count;
  }

  bool IsFull(const std::string& host) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return static_cast<int>(open_.size()) >= options_.max_connections ||
           CountFrom(host) >= options_.max_connections_per_host;
  }

  // Closes one, of this host if it has as many as it may.
  bool CloseOldestStranger(const std::string& host)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const bool only_there =
        CountFrom(host) >= options_.max_connections_per_host;
    auto oldest = open_.end();
    for (auto it = open_.begin(); it != open_.end(); ++it) {
      const Connection& each = it->second;
      if (each.known || (only_there && each.host != host)) continue;
      if (oldest == open_.end() || each.number < oldest->second.number) {
        oldest = it;
      }
    }
    if (oldest == open_.end() ||
        SteadyClock()->Now() - oldest->second.accepted <
            options_.strangers_time) {
      return false;
    }
    Close(oldest);
    return true;
  }

  // Closes a connection. gRPC then finds its socket at its end.
  void Close(Connections::iterator connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (connection->second.waits) {
      close(connection->second.fd);
    } else if (IsOpen(connection->second)) {
      shutdown(connection->second.fd, SHUT_RDWR);
    }
    open_.erase(connection);
  }

  // Whether gRPC still has the socket: after it has closed it, the number has
  // another inode, or none.
  static bool IsOpen(const Connection& connection) {
    struct stat found = {};
    return fstat(connection.fd, &found) == 0 &&
           found.st_ino == connection.inode;
  }

  void ForgetClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (auto it = open_.begin(); it != open_.end();) {
      const auto here = it++;
      if (!IsOpen(here->second)) open_.erase(here);
    }
  }

  void Refuse(const std::string& text) {
    refused_.Log(text, [](const std::string& line) { LOG(WARNING) << line; });
  }

  const AcceptorOptions options_;
  std::vector<UniqueFd> sockets_;
  const int port_;
  const UniqueFd stop_;
  LogLimit refused_;

  Mutex mu_;
  HandshakePace pace_ ABSL_GUARDED_BY(mu_);
  // The connections by HOST:PORT of the other end.
  Connections open_ ABSL_GUARDED_BY(mu_);
  int64_t num_accepted_ ABSL_GUARDED_BY(mu_) = 0;

  Thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Listen(
    const AcceptorOptions& options) {
  PS_ASSIGN_OR_RETURN(std::vector<UniqueFd> sockets, ListenAt(options.address));
  return std::make_unique<SocketAcceptor>(options, std::move(sockets));
}

}  // namespace ps
