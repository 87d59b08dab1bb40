#include "transport/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(UnixSocket, NamesDiffer) {
  EXPECT_NE(NewUnixSocketName(), NewUnixSocketName());
}

TEST(UnixSocket, AnswersWhileSomebodyListens) {
  const std::string name = NewUnixSocketName();
  EXPECT_FALSE(UnixSocketAnswers(name));
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_GE(fd, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_FALSE(UnixSocketAnswers(name)) << "bound, but nobody listens";
  ASSERT_EQ(listen(fd, 4), 0);
  EXPECT_TRUE(UnixSocketAnswers(name));
  close(fd);
  EXPECT_FALSE(UnixSocketAnswers(name));
}

TEST(UnixSocket, NamesThatCannotBeOneDoNotAnswer) {
  EXPECT_FALSE(UnixSocketAnswers(""));
  EXPECT_FALSE(UnixSocketAnswers(std::string(108, 'x')));
  EXPECT_FALSE(UnixSocketAnswers(std::string(1 << 20, 'x')));
}

}  // namespace
}  // namespace ps
