// What a training process and its bridge say to each other over a socket of
// type SOCK_SEQPACKET.
//
// A message is 24 bytes, little-endian, and then at most 4 KiB of text:
//
//   u8 op, u8 0, u16 0, i32 a, i64 b, f64 c
//
// An answer has the same form: the op that it answers, in `a` the code of an
// absl::Status, and as text the status's message if it is not OK.
//
//   op       a, b, c, text         answered: b, c, text of the answer
//   JOB                            yes: number of workers, number of addresses
//                                  of servers, lines "name value"
//   SAME     text                  no
//   OPEN     whether buckets take
//            turns;
//            + the shared block    yes: number of buckets
//   FIRST                          yes
//   PULL                           yes
//   BEGIN    whether the loss is
//            told, samples or 0,
//            the loss              no
//   READY    bucket                no
//   WAIT                           yes: number of pushes so far
//   SERVERS                        yes
//   AVERAGE  f32 values as text    yes: -, -, their means
//   STATS                          yes: -, -, lines "name value"
//   SAVE     + an empty memfd      yes: the number of bytes in it
//   LOAD     + what SAVE wrote     yes
//   METRICS  lines "name value"    no
//   FINISH                         yes
//   ABORT    the reason as text    yes
//
// SAME describes something besides the tensors that must be the same in all
// training processes. METRICS are those of an evaluation, the most important
// one first, for the records. bridge/session.h says what the others do; FIRST,
// PULL and SERVERS are for delta mode. The first error is kept, and is the
// answer to all later ops but ABORT.
#ifndef BRIDGE_MESSAGES_H_
#define BRIDGE_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace ps {

// Of messages and of the shared block. A training process with another one is
// refused.
constexpr int kBridgeProtocol = 5;

constexpr size_t kBridgeMessageBytes = 24;  // Without the text.
constexpr size_t kMaxBridgeText = 4096;

enum class BridgeOp : uint8_t {
  kJob = 1,
  kSame = 2,
  kOpen = 3,
  kFirst = 4,
  kPull = 5,
  kBegin = 6,
  kReady = 7,
  kWait = 8,
  kServers = 9,
  kAverage = 10,
  kStats = 11,
  kSave = 12,
  kLoad = 13,
  kMetrics = 14,
  kFinish = 15,
  kAbort = 16,
};

struct BridgeMessage {
  BridgeOp op = BridgeOp::kJob;
  int32_t a = 0;
  int64_t b = 0;
  double c = 0;
  std::string text;  // A longer one is cut when it is sent.
  UniqueFd fd;       // That came with it, or -1.
};

// Errors: kInvalidArgument for bytes that are no message.
absl::StatusOr<BridgeMessage> DecodeBridgeMessage(absl::string_view bytes);
std::string EncodeBridgeMessage(const BridgeMessage& message);

// Waits for the next message; none if the peer sends no more. Errors: those of
// DecodeBridgeMessage, for more than one descriptor too; kUnavailable if the
// socket fails.
absl::StatusOr<std::optional<BridgeMessage>> ReceiveBridgeMessage(int socket);

// The contents of a memfd that came with a message, of at most `limit` bytes;
// and writes them to one. Errors: kInvalidArgument if no memfd came, or a
// larger one; kResourceExhausted.
absl::StatusOr<std::string> ReadMemfd(const UniqueFd& memfd, int64_t limit);
absl::Status WriteMemfd(absl::string_view bytes, const UniqueFd& memfd);

// Also sends message.fd, if there is one. Errors: kUnavailable.
absl::Status SendBridgeMessage(int socket, const BridgeMessage& message);

}  // namespace ps

#endif  // BRIDGE_MESSAGES_H_
