// The other side of BenchProcesses::StartPeer: what a process does that takes
// requests.
#ifndef TOOLS_BENCH_PROCESSES_PEER_LOOP_H_
#define TOOLS_BENCH_PROCESSES_PEER_LOOP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/bench/processes/peer_messages.h"

namespace ps {

using PeerAnswer = absl::StatusOr<std::vector<int64_t>>;

// Of the steady clock, which all processes of a machine share.
int64_t SteadyNanoseconds();

// Says on stdout what `start` returns: that the process is ready. Then answers
// what comes on `requests_fd`, one after the other, until that is closed or
// something is wrong, which is the last thing it says. Closes `requests_fd`.
// Returns the exit code.
int ServePeer(int requests_fd, const std::function<PeerAnswer()>& start,
              const std::function<PeerAnswer(const PeerRequest&)>& answer);

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_PEER_LOOP_H_
