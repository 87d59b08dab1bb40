#include "server/acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/unique_fd.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

// Takes connections as gRPC would.
class AcceptorTest : public testing::Test {
 protected:
  void Listen(const std::string& address, int total, int per_host) {
    AcceptorOptions options;
    options.address = address;
    options.max_connections = total;
    options.max_connections_per_host = per_host;
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
  EXPECT_TRUE(IsRefused(Connect())) << "the third of this host";
  const UniqueFd other_host = Connect("127.0.0.2");
  AwaitTaken(3);
  EXPECT_TRUE(IsRefused(Connect("127.0.0.3"))) << "the fourth of all";
  CloseFirst();
  const UniqueFd again = Connect();
  AwaitTaken(3);
  EXPECT_TRUE(IsRefused(Connect())) << "again the third";
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

}  // namespace
}  // namespace ps
