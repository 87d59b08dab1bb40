// What the bench and the processes that it starts say to each other: one line
// of words each way. The bench asks "push 8"; a peer says "ok 123 456" or
// "error what is wrong". Its first line, "ok ..." too, says that it is ready.
#ifndef TOOLS_BENCH_PROCESSES_PEER_MESSAGES_H_
#define TOOLS_BENCH_PROCESSES_PEER_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

struct PeerRequest {
  enum Verb { kPush, kPull, kCheck, kReport, kFinish };
  Verb verb = kPush;
  // kPush, kPull: how often. kCheck: pushes of each worker so far. kReport asks
  // for what was counted since the last one. At least 0.
  int64_t count = 0;
};

// What a peer answers to kPush and kPull.
struct PeerTiming {
  // Of the steady clock, which all processes of a machine share.
  int64_t start_nanoseconds = 0;
  int64_t end_nanoseconds = 0;
  int64_t payload_bytes = 0;
  int64_t answer_bytes = 0;
};

// Without the end of the line, as everywhere here.
std::string FormatRequest(const PeerRequest& request);
// Errors of all: kInvalidArgument with the line.
absl::StatusOr<PeerRequest> ParseRequest(absl::string_view line);

// The numbers of an answer, or an error as it was, with its line ends gone.
std::string FormatReply(const absl::StatusOr<std::vector<int64_t>>& reply);
// Errors: also kAborted with what the peer says is wrong.
absl::StatusOr<std::vector<int64_t>> ParseReply(absl::string_view line);

std::vector<int64_t> TimingNumbers(const PeerTiming& timing);
absl::StatusOr<PeerTiming> ParseTiming(const std::vector<int64_t>& numbers);

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_PEER_MESSAGES_H_
