#include "transport/connections/acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "common/unique_fd.h"
#include "gtest/gtest.h"
#include "transport/connections/handshake_pace.h"
#include "transport/connections/listening_sockets.h"

namespace ps {
namespace {

// Takes connections as gRPC would.
class AcceptorTest : public testing::Test {
 protected:
  void Listen(const std::string& address, int total, int per_host,
              absl::Duration strangers_time = absl::ZeroDuration()) {
    AcceptorOptions options;
    options.strangers_time = strangers_time;
    options.address = address;
    options.max_connections = total;
    options.max_connections_per_host = per_host;
    options.tls_only = tls_only_;
    options.handshake_time = handshake_time_;
    auto acceptor = Acceptor::Listen(options);
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
    acceptor_->Run([this](int fd) {
      MutexLock lock(&mu_);
      taken_.emplace_back(fd);
      changed_.SignalAll();
    });
  }

  ~AcceptorTest() override {
    if (acceptor_ != nullptr) acceptor_->Stop();
  }

  UniqueFd Connect(const char* from = "127.0.0.1") const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, from, &address.sin_addr);
    const auto* const name = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(bind(fd.get(), name, sizeof(address)), 0);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    address.sin_port = htons(static_cast<uint16_t>(acceptor_->port()));
    EXPECT_EQ(connect(fd.get(), name, sizeof(address)), 0);
    return fd;
  }

  // As a service does when a process of the job calls it.
  void Know(const UniqueFd& fd) {
    sockaddr_in address = {};
    socklen_t length = sizeof(address);
    getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length);
    char host[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host));
    acceptor_->Know(absl::StrCat("ipv4:", host, ":", ntohs(address.sin_port)));
  }

  // Whether the other end is closed. Waits until it is, or taken.
  static bool IsRefused(const UniqueFd& fd) {
    char byte = 0;
    return read(fd.get(), &byte, 1) <= 0;
  }

  void AwaitTaken(size_t count) {
    MutexLock lock(&mu_);
    while (taken_.size() < count) changed_.Wait(&mu_);
  }

  // Closes the other end of the first connection.
  void CloseFirst() {
    MutexLock lock(&mu_);
    taken_.erase(taken_.begin());
  }

  bool tls_only_ = false;
  absl::Duration handshake_time_ = absl::Hours(1);
  std::unique_ptr<Acceptor> acceptor_;
  Mutex mu_;
  CondVar changed_;
  std::vector<UniqueFd> taken_ ABSL_GUARDED_BY(mu_);
};

TEST_F(AcceptorTest, ClosesWhatIsOneTooMany) {
  Listen("127.0.0.1:0", /*total=*/3, /*per_host=*/2);
  const UniqueFd first = Connect();
  const UniqueFd second = Connect();
  AwaitTaken(2);
  Know(first);
  Know(second);
  EXPECT_TRUE(IsRefused(Connect())) << "the third of this host";
  const UniqueFd other_host = Connect("127.0.0.2");
  AwaitTaken(3);
  Know(other_host);
  EXPECT_TRUE(IsRefused(Connect("127.0.0.3"))) << "the fourth of all";
  CloseFirst();
  const UniqueFd again = Connect();
  AwaitTaken(3);
  Know(again);
  EXPECT_TRUE(IsRefused(Connect())) << "again the third";
}

// Whoever floods a server closes the connections of its own kind only.
TEST_F(AcceptorTest, ClosesTheOldestStrangersForNewOnes) {
  Listen("127.0.0.1:0", /*total=*/4, /*per_host=*/3);
  const UniqueFd oldest = Connect();
  const UniqueFd known = Connect();
  const UniqueFd second = Connect();
  AwaitTaken(3);
  Know(known);
  const UniqueFd third = Connect();
  AwaitTaken(4);
  EXPECT_TRUE(IsRefused(oldest)) << "the oldest, of the same host";
  const UniqueFd other_host = Connect("127.0.0.2");
  AwaitTaken(5);
  const UniqueFd third_host = Connect("127.0.0.3");
  AwaitTaken(6);
  EXPECT_TRUE(IsRefused(second)) << "the oldest of all";
  for (int i = 0; i < 20; ++i) {
    const UniqueFd flood = Connect();
    AwaitTaken(7 + i);
  }
  EXPECT_TRUE(IsRefused(third));
  pollfd silent = {known.get(), POLLIN, 0};
  EXPECT_EQ(poll(&silent, 1, /*timeout=*/0), 0) << "it was closed";
}

TEST_F(AcceptorTest, GivesStrangersTimeToShowWhoTheyAre) {
  Listen("127.0.0.1:0", /*total=*/1, /*per_host=*/1, absl::Hours(1));
  const UniqueFd first = Connect();
  AwaitTaken(1);
  EXPECT_TRUE(IsRefused(Connect()));
  pollfd silent = {first.get(), POLLIN, 0};
  EXPECT_EQ(poll(&silent, 1, /*timeout=*/0), 0) << "it was closed";
}

TEST_F(AcceptorTest, GoesOnAfterAShortageOfDescriptors) {
  Listen("127.0.0.1:0", 1000, 1000);
  const UniqueFd before = Connect();
  AwaitTaken(1);
  std::vector<UniqueFd> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
  }
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit none_left = limit;
  none_left.rlim_cur = 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(acceptor_->port()));
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  for (const UniqueFd& fd : waiting) {
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof(address)),
              0);
  }
  pollfd unanswered = {waiting[0].get(), POLLIN, 0};
  EXPECT_EQ(poll(&unanswered, 1, /*timeout=*/200), 0) << "it was not closed";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  AwaitTaken(4);
}

void Send(const UniqueFd& fd, const std::string& bytes) {
  EXPECT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

TEST_F(AcceptorTest, HandsOverWhoBeginsATlsHandshake) {
  tls_only_ = true;
  Listen("127.0.0.1:0", 10, 10);
  const std::string hello("\x16\x03\x01\x02\x00\x01\x00", 7);
  const UniqueFd slow = Connect();
  Send(slow, hello.substr(0, 5));
  const UniqueFd plaintext = Connect();
  Send(plaintext, "PRI * HTTP/2.0");
  EXPECT_TRUE(IsRefused(plaintext));
  const UniqueFd alert = Connect();
  Send(alert, std::string("\x15\x03\x01\x00\x02\x01", 6));
  EXPECT_TRUE(IsRefused(alert));
  {
    const UniqueFd leaves = Connect();
    Send(leaves, "\x16");
  }
  const UniqueFd fast = Connect();
  Send(fast, hello);
  AwaitTaken(1);
  pollfd waits = {slow.get(), POLLIN, 0};
  EXPECT_EQ(poll(&waits, 1, /*timeout=*/0), 0) << "it was closed";
  Send(slow, hello.substr(5));
  AwaitTaken(2);
  // What was looked at is still there to read, with the rest, byte by byte.
  std::string read_bytes(hello.size(), '\0');
  MutexLock lock(&mu_);
  EXPECT_EQ(
      recv(taken_[1].get(), read_bytes.data(), read_bytes.size(), MSG_DONTWAIT),
      static_cast<ssize_t>(hello.size()));
  EXPECT_EQ(read_bytes, hello);
  int least = 0;
  socklen_t length = sizeof(least);
  getsockopt(taken_[1].get(), SOL_SOCKET, SO_RCVLOWAT, &least, &length);
  EXPECT_EQ(least, 1);
}

TEST_F(AcceptorTest, ClosesWhoSaysNothing) {
  tls_only_ = true;
  handshake_time_ = absl::Milliseconds(50);
  Listen("127.0.0.1:0", 10, 10);
  const UniqueFd silent = Connect();
  const UniqueFd half = Connect();
  Send(half, "\x16\x03");
  EXPECT_TRUE(IsRefused(silent));
  EXPECT_TRUE(IsRefused(half));
}

TEST_F(AcceptorTest, LetsAHostBeginOnlySoManyHandshakes) {
  tls_only_ = true;
  Listen("127.0.0.1:0", /*total=*/10, /*per_host=*/3);
  const std::string hello("\x16\x03\x01\x02\x00\x01", 6);
  for (int i = 0; i < 3; ++i) {
    const UniqueFd fd = Connect("127.0.0.2");
    Send(fd, hello);
    AwaitTaken(i + 1);
  }
  const UniqueFd waits = Connect("127.0.0.2");
  Send(waits, hello);
  const UniqueFd other_host = Connect();
  Send(other_host, hello);
  AwaitTaken(4);
  MutexLock lock(&mu_);
  sockaddr_in peer = {};
  socklen_t length = sizeof(peer);
  getpeername(taken_[3].get(), reinterpret_cast<sockaddr*>(&peer), &length);
  EXPECT_EQ(ntohl(peer.sin_addr.s_addr), INADDR_LOOPBACK);
  pollfd silent = {waits.get(), POLLIN, 0};
  EXPECT_EQ(poll(&silent, 1, /*timeout=*/0), 0) << "it was closed";
}

TEST_F(AcceptorTest, HandsOverWhoWaitedForItsTurn) {
  tls_only_ = true;
  handshake_time_ = absl::Milliseconds(300);
  Listen("127.0.0.1:0", /*total=*/10, /*per_host=*/3);
  const std::string hello("\x16\x03\x01\x02\x00\x01", 6);
  std::vector<UniqueFd> connections;
  for (int i = 0; i < 3; ++i) {
    connections.push_back(Connect());
    Send(connections.back(), hello);
    AwaitTaken(i + 1);
  }
  CloseFirst();
  connections.push_back(Connect());
  Send(connections.back(), hello);
  AwaitTaken(3);
}

TEST(HandshakePaceTest, AllowsABurstAndThenAnEvenPace) {
  HandshakePace pace(/*burst=*/4, absl::Seconds(8));
  const absl::Time start = absl::UnixEpoch();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pace.Next("a", start), start);
  EXPECT_EQ(pace.Next("a", start), start + absl::Seconds(2));
  EXPECT_EQ(pace.Next("b", start), start);
  const absl::Time then = start + absl::Seconds(5);
  EXPECT_EQ(pace.Next("a", then), then);
  EXPECT_EQ(pace.Next("a", then), then);
  EXPECT_EQ(pace.Next("a", then), start + absl::Seconds(6));
  const absl::Time later = start + absl::Seconds(100);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pace.Next("a", later), later);
  EXPECT_GT(pace.Next("a", later), later);
}

TEST(HandshakePaceTest, RemembersABoundedNumberOfHosts) {
  HandshakePace pace(/*burst=*/1, absl::Seconds(1));
  const absl::Time start = absl::UnixEpoch();
  int allowed = 0;
  for (int i = 0; i < 10000; ++i) {
    allowed += pace.Next(absl::StrCat(i), start) == start ? 1 : 0;
  }
  EXPECT_LT(allowed, 5000);
  EXPECT_LT(pace.num_hosts(), 5000u);
  EXPECT_EQ(pace.Next("late", start + absl::Seconds(1)),
            start + absl::Seconds(1));
  EXPECT_EQ(pace.num_hosts(), 1u);
}

TEST_F(AcceptorTest, ClosesWhoWaitsForNewOnes) {
  tls_only_ = true;
  Listen("127.0.0.1:0", /*total=*/2, /*per_host=*/2);
  const UniqueFd oldest = Connect();
  const UniqueFd second = Connect();
  const UniqueFd third = Connect();
  EXPECT_TRUE(IsRefused(oldest));
  acceptor_->Stop();
  EXPECT_TRUE(IsRefused(second));
  EXPECT_TRUE(IsRefused(third));
}

TEST_F(AcceptorTest, NamesWhyItCannotListen) {
  Listen("127.0.0.1:0", 10, 10);
  AcceptorOptions options;
  options.address = absl::StrCat("127.0.0.1:", acceptor_->port());
  absl::Status status = Acceptor::Listen(options).status();
  EXPECT_EQ(status, absl::UnavailableError("Address already in use"));
  options.address = "192.0.2.1:0";
  status = Acceptor::Listen(options).status();
  EXPECT_EQ(status, absl::UnavailableError("Cannot assign requested address"));
}

TEST_F(AcceptorTest, ListensOnEveryAddressOfAName) {
  Listen("localhost:0", 10, 10);
  const UniqueFd fd = Connect();
  AwaitTaken(1);
}

TEST_F(AcceptorTest, ReplacesASocketWhereNobodyListens) {
  AcceptorOptions options;
  options.address = absl::StrCat("unix:/tmp/acceptor_test.", getpid());
  const std::string& address = options.address;
  Listen(address, 10, 10);
  EXPECT_EQ(acceptor_->port(), 0);
  EXPECT_EQ(Acceptor::Listen(options).status(),
            absl::UnavailableError("Address already in use"));
  // The file is left.
  acceptor_->Stop();
  Listen(address, 10, 10);
  unlink(address.substr(5).c_str());
}

// All of them find a socket where nobody listens, and one replaces it.
TEST_F(AcceptorTest, OfServersThatBeginAtOnceOneGetsTheSocket) {
  const std::string address = absl::StrCat("unix:/tmp/acceptors.", getpid());
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> listening = 0;
    std::vector<std::vector<UniqueFd>> sockets(8);
    std::vector<std::thread> threads;
    for (std::vector<UniqueFd>& mine : sockets) {
      threads.emplace_back([&] {
        absl::StatusOr<std::vector<UniqueFd>> listened = ListenAt(address);
        if (!listened.ok()) return;
        ++listening;
        mine = *std::move(listened);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(listening, 1) << "round " << round;
  }
  unlink(address.substr(5).c_str());
}

}  // namespace
}  // namespace ps
