#include "bridge/messages.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "messages are little-endian");

// More descriptors than a message may have, so that all that came are closed.
constexpr size_t kMaxDescriptors = 8;

bool IsOp(uint8_t op) {
  return op >= static_cast<uint8_t>(BridgeOp::kJob) &&
         op <= static_cast<uint8_t>(BridgeOp::kAbort);
}

template <typename T>
T Read(absl::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

template <typename T>
void Append(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

absl::Status SocketError(const char* what) {
  const int error = errno;
  return absl::UnavailableError(absl::StrCat(
      "cannot ", what, " the training process: ", std::strerror(error)));
}

// The descriptors that came with a message; all are closed but the first, if it
// is alone.
absl::StatusOr<UniqueFd> TakeDescriptor(msghdr* header) {
  UniqueFd first;
  int count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(header); part != nullptr;
       part = CMSG_NXTHDR(header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t bytes = part->cmsg_len - CMSG_LEN(0);
    for (size_t i = 0; i < bytes / sizeof(int); ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      UniqueFd fd(number);
      if (count++ == 0) first = std::move(fd);
    }
  }
  if (count > 1 || (header->msg_flags & MSG_CTRUNC) != 0) {
    return absl::InvalidArgumentError(
        "a message came with more than one descriptor");
  }
  return first;
}

// Another kind of file might not end, or block.
absl::StatusOr<int64_t> SizeOfMemfd(const UniqueFd& memfd) {
  struct stat info = {};
  if (memfd.get() < 0 || fstat(memfd.get(), &info) != 0 ||
      !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        "a message that needs a memfd came without one");
  }
  return info.st_size;
}

}  // namespace

absl::StatusOr<BridgeMessage> DecodeBridgeMessage(absl::string_view bytes) {
  if (bytes.size() < kBridgeMessageBytes ||
      bytes.size() > kBridgeMessageBytes + kMaxBridgeText) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a message has ", bytes.size(), " bytes; must have ",
        kBridgeMessageBytes, ", and up to ", kMaxBridgeText, " more of text"));
  }
  const auto op = Read<uint8_t>(bytes, 0);
  if (!IsOp(op) || Read<uint8_t>(bytes, 1) != 0 ||
      Read<uint16_t>(bytes, 2) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a message begins with the bytes ", op, ", ", Read<uint8_t>(bytes, 1),
        " and ", Read<uint16_t>(bytes, 2), "; must be an op and zeros"));
  }
  BridgeMessage message;
  message.op = static_cast<BridgeOp>(op);
  message.a = Read<int32_t>(bytes, 4);
  message.b = Read<int64_t>(bytes, 8);
  message.c = Read<double>(bytes, 16);
  message.text = std::string(bytes.substr(kBridgeMessageBytes));
  return message;
}

std::string EncodeBridgeMessage(const BridgeMessage& message) {
  std::string bytes;
  Append(static_cast<uint8_t>(message.op), &bytes);
  bytes.append(3, '\0');
  Append(message.a, &bytes);
  Append(message.b, &bytes);
  Append(message.c, &bytes);
  absl::StrAppend(&bytes,
                  absl::string_view(message.text).substr(0, kMaxBridgeText));
  return bytes;
}

absl::StatusOr<std::optional<BridgeMessage>> ReceiveBridgeMessage(int socket) {
  // One byte more, so that a message that is too long is seen.
  std::array<char, kBridgeMessageBytes + kMaxBridgeText + 1> bytes;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  iovec piece = {bytes.data(), bytes.size()};
  msghdr header = {};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t count;
  do {
    count = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  // A process that ended with answers unread resets the connection.
  if (count == 0 || (count < 0 && errno == ECONNRESET)) {
    return std::optional<BridgeMessage>();
  }
  if (count < 0) return SocketError("hear");
  PS_ASSIGN_OR_RETURN(UniqueFd fd, TakeDescriptor(&header));
  PS_ASSIGN_OR_RETURN(
      BridgeMessage message,
      DecodeBridgeMessage({bytes.data(), static_cast<size_t>(count)}));
  message.fd = std::move(fd);
  return std::optional<BridgeMessage>(std::move(message));
}

absl::StatusOr<std::string> ReadMemfd(const UniqueFd& memfd, int64_t limit) {
  PS_ASSIGN_OR_RETURN(const int64_t size, SizeOfMemfd(memfd));
  if (size > limit) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a memfd has ", size, " bytes; must have at most ", limit));
  }
  std::string bytes(size, '\0');
  for (int64_t done = 0; done < size;) {
    const ssize_t count =
        pread(memfd.get(), &bytes[done], bytes.size() - done, done);
    if (count == 0 || (count < 0 && errno != EINTR)) {
      return absl::InvalidArgumentError("a memfd became shorter");
    }
    done += std::max<ssize_t>(count, 0);
  }
  return bytes;
}

absl::Status WriteMemfd(absl::string_view bytes, const UniqueFd& memfd) {
  PS_RETURN_IF_ERROR(SizeOfMemfd(memfd).status());
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = pwrite(memfd.get(), bytes.data() + done,
                                 bytes.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno != EINTR) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot write ", bytes.size(),
                       " bytes to a memfd: ", std::strerror(errno)));
    }
    done += std::max<ssize_t>(count, 0);
  }
  return absl::OkStatus();
}

absl::Status SendBridgeMessage(int socket, const BridgeMessage& message) {
  std::string bytes = EncodeBridgeMessage(message);
  iovec piece = {bytes.data(), bytes.size()};
  msghdr header = {};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (const int fd = message.fd.get(); fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &fd, sizeof(int));
  }
  ssize_t count;
  do {
    count = sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  return count < 0 ? SocketError("tell") : absl::OkStatus();
}

}  // namespace ps
