// The other side of BenchProcesses::StartPeer: the loop of a process that
// answers requests.
#ifndef TOOLS_BENCH_PROCESSES_PEER_LOOP_H_
#define TOOLS_BENCH_PROCESSES_PEER_LOOP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/flags.h"
#include "tools/bench/processes/peer_messages.h"

namespace ps {

using PeerAnswer = absl::StatusOr<std::vector<int64_t>>;

// Time of the steady clock, which all processes of a machine share.
int64_t SteadyNanoseconds();

// Writes the result of `start` to stdout, which says that the process is ready.
// Then answers the requests from `requests_fd`, one after the other, until the
// descriptor is closed or an error occurs; the error is the last answer. Closes
// `requests_fd`. Returns the exit code.
int ServePeer(int requests_fd, const std::function<PeerAnswer()>& start,
              const std::function<PeerAnswer(const PeerRequest&)>& answer);

// The help of `gradsieve bench SUBJECT peer`.
CommandText PeerText(const std::string& subject);

// Adds --requests-fd to the options, parses them, and calls ServePeer.
// argv[0] is "peer". Returns the exit code.
int RunPeer(CommandLine* command_line, int argc, char** argv,
            const std::function<PeerAnswer()>& start,
            const std::function<PeerAnswer(const PeerRequest&)>& answer);

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_PEER_LOOP_H_
