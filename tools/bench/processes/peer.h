// What a bench asks the processes that it starts: "push 8", and is answered
// with numbers (tools/process/requests.h). The first line of a peer, an answer
// to no request, says that it is ready.
#ifndef TOOLS_BENCH_PROCESSES_PEER_H_
#define TOOLS_BENCH_PROCESSES_PEER_H_

#include <cstdint>
#include <functional>
#include <istream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/flags.h"

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

// Numbers, or an error.
using PeerAnswer = absl::StatusOr<std::vector<int64_t>>;

// The answer of work that has no numbers.
PeerAnswer NoNumbers(const absl::Status& status);

// A peer's answer to kPush and kPull.
struct PeerTiming {
  // Times of the steady clock, which all processes of a machine share.
  int64_t start_nanoseconds = 0;
  int64_t end_nanoseconds = 0;
  int64_t payload_bytes = 0;
  int64_t answer_bytes = 0;
};

// That clock.
int64_t SteadyNanoseconds();

// Lines in this file have no line end.
std::string FormatRequest(const PeerRequest& request);
// Errors of all parsers: kInvalidArgument with the line.
absl::StatusOr<PeerRequest> ParseRequest(absl::string_view line);

// An error has its line ends removed.
std::string FormatReply(const PeerAnswer& answer);
// Errors: also kAborted with the error message of the peer.
PeerAnswer ParseReply(absl::string_view line);

std::vector<int64_t> TimingNumbers(const PeerTiming& timing);
absl::StatusOr<PeerTiming> ParseTiming(const std::vector<int64_t>& numbers);

// The help of `gradsieve bench SUBJECT peer`.
CommandText PeerText(const std::string& subject);

// The main function of a peer: parses its options, answers with the result of
// `start`, and then answers the requests from standard input until it ends or
// an error occurs; the error is the last answer. argv[0] is "peer". Returns the
// exit code.
int RunPeer(CommandLine* command_line, int argc, char** argv,
            const std::function<PeerAnswer()>& start,
            const std::function<PeerAnswer(const PeerRequest&)>& answer);

// The same for requests from elsewhere, and parsed options.
int ServePeer(std::istream* requests, const std::function<PeerAnswer()>& start,
              const std::function<PeerAnswer(const PeerRequest&)>& answer);

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_PEER_H_
