// Messages between the bench and the processes that it starts: one line in each
// direction. The bench asks "push 8"; a peer answers "ok 123 456" or "error
// MESSAGE". The first line of a peer, also "ok ...", says that it is ready.
#ifndef TOOLS_BENCH_PROCESSES_PEER_MESSAGES_H_
#define TOOLS_BENCH_PROCESSES_PEER_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// The first argument of `gradsieve bench SUBJECT` that makes it such a process.
// Users do not call this command.
constexpr char kPeer[] = "peer";

struct PeerRequest {
  enum Verb { kPush, kPull, kCheck, kReport, kFinish };
  Verb verb = kPush;
  // kPush, kPull: how often. kCheck: the number of pushes of each worker so
  // far. Unused by kReport, which asks for the counts since the last report. At
  // least 0.
  int64_t count = 0;
};

// A peer's answer to kPush and kPull.
struct PeerTiming {
  // Times of the steady clock, which all processes of a machine share.
  int64_t start_nanoseconds = 0;
  int64_t end_nanoseconds = 0;
  int64_t payload_bytes = 0;
  int64_t answer_bytes = 0;
};

// Lines in this file have no line end.
std::string FormatRequest(const PeerRequest& request);
// Errors of all parsers: kInvalidArgument with the line.
absl::StatusOr<PeerRequest> ParseRequest(absl::string_view line);

// The numbers of an answer, or an error with its line ends removed.
std::string FormatReply(const absl::StatusOr<std::vector<int64_t>>& reply);
// Errors: also kAborted with the error message of the peer.
absl::StatusOr<std::vector<int64_t>> ParseReply(absl::string_view line);

std::vector<int64_t> TimingNumbers(const PeerTiming& timing);
absl::StatusOr<PeerTiming> ParseTiming(const std::vector<int64_t>& numbers);

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_PEER_MESSAGES_H_
