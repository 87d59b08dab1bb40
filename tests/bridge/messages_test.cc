#include "bridge/messages.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

class BridgeMessages : public testing::Test {
 protected:
  BridgeMessages() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = UniqueFd(ends[0]);
    theirs_ = UniqueFd(ends[1]);
  }

  UniqueFd ours_;
  UniqueFd theirs_;
};

BridgeMessage Example() {
  BridgeMessage message;
  message.op = BridgeOp::kReady;
  message.a = std::numeric_limits<int32_t>::min();
  message.b = std::numeric_limits<int64_t>::max();
  message.c = -0.5;
  message.text = "some text";
  return message;
}

TEST_F(BridgeMessages, ArriveAsTheyWereSent) {
  ASSERT_TRUE(SendBridgeMessage(theirs_.get(), Example()).ok());
  auto received = ReceiveBridgeMessage(ours_.get());
  ASSERT_TRUE(received.ok() && received->has_value()) << received.status();
  const BridgeMessage& message = **received;
  EXPECT_EQ(message.op, Example().op);
  EXPECT_EQ(message.a, Example().a);
  EXPECT_EQ(message.b, Example().b);
  EXPECT_EQ(message.c, Example().c);
  EXPECT_EQ(message.text, Example().text);
  EXPECT_LT(message.fd.get(), 0);
}

// The layout that the header promises, and that other languages write.
TEST_F(BridgeMessages, HaveTheDocumentedBytes) {
  BridgeMessage message;
  message.op = BridgeOp::kWait;
  message.a = 0x04030201;
  message.b = 0x0807060504030201;
  message.c = 1;
  message.text = "x";
  EXPECT_EQ(EncodeBridgeMessage(message),
            std::string("\x08\0\0\0\1\2\3\4\1\2\3\4\5\6\7\x08"
                        "\0\0\0\0\0\0\xf0\x3fx",
                        25));
}

TEST_F(BridgeMessages, CarryADescriptor) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  BridgeMessage message = Example();
  message.fd = UniqueFd(ends[1]);
  ASSERT_TRUE(SendBridgeMessage(theirs_.get(), message).ok());
  message.fd.Close();
  auto received = ReceiveBridgeMessage(ours_.get());
  ASSERT_TRUE(received.ok() && received->has_value()) << received.status();
  EXPECT_EQ(write((*received)->fd.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(reader.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

TEST_F(BridgeMessages, EndWithTheOtherProcess) {
  ASSERT_TRUE(SendBridgeMessage(theirs_.get(), Example()).ok());
  theirs_.Close();
  auto received = ReceiveBridgeMessage(ours_.get());
  ASSERT_TRUE(received.ok() && received->has_value());
  received = ReceiveBridgeMessage(ours_.get());
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_FALSE(received->has_value());
  EXPECT_EQ(SendBridgeMessage(ours_.get(), Example()).code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(BridgeMessages, OfAnyLengthAreReadOrRefused) {
  const std::string bytes = EncodeBridgeMessage(Example());
  for (size_t size = 1; size <= bytes.size(); ++size) {
    ASSERT_EQ(send(theirs_.get(), bytes.data(), size, 0),
              static_cast<ssize_t>(size));
    EXPECT_EQ(ReceiveBridgeMessage(ours_.get()).ok(),
              size >= kBridgeMessageBytes)
        << size;
  }
  BridgeMessage longest = Example();
  longest.text.assign(kMaxBridgeText + 1000, 'x');
  const std::string cut = EncodeBridgeMessage(longest);
  EXPECT_EQ(cut.size(), kBridgeMessageBytes + kMaxBridgeText);
  EXPECT_TRUE(DecodeBridgeMessage(cut).ok());
  const std::string longer = cut + std::string(5000, 'x');
  ASSERT_GT(send(theirs_.get(), longer.data(), longer.size(), 0), 0);
  EXPECT_EQ(ReceiveBridgeMessage(ours_.get()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(BridgeMessages, WithOtherFirstBytesAreRefused) {
  for (size_t at = 0; at < 4; ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string bytes = EncodeBridgeMessage(Example());
      bytes[at] = static_cast<char>(value);
      const bool is_op = value >= 1 && value <= 16;
      EXPECT_EQ(DecodeBridgeMessage(bytes).ok(), at == 0 ? is_op : value == 0)
          << at << ": " << value;
    }
  }
}

TEST_F(BridgeMessages, WithSeveralDescriptorsAreRefused) {
  std::string bytes = EncodeBridgeMessage(Example());
  for (const size_t count : {2, 20}) {
    iovec piece = {bytes.data(), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(20 * sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(count * sizeof(int));
    for (size_t i = 0; i < count; ++i) {
      const int fd = theirs_.get();
      std::copy_n(reinterpret_cast<const char*>(&fd), sizeof(fd),
                  CMSG_DATA(part) + i * sizeof(fd));
    }
    ASSERT_GT(sendmsg(theirs_.get(), &header, 0), 0);
    EXPECT_THAT(
        std::string(ReceiveBridgeMessage(ours_.get()).status().message()),
        HasSubstr("more than one descriptor"));
  }
}

}  // namespace
}  // namespace ps
