// A process of simulated workers: `gradsieve bench load peer ...`.
#ifndef TOOLS_BENCH_LOAD_PEER_H_
#define TOOLS_BENCH_LOAD_PEER_H_

namespace ps {

// Prepares the payloads, joins the job with all its workers, and writes to
// stdout that it is ready, with streams, ring and bytes of the payloads. Then
// answers the requests from its standard input (RunPeer).
// The answer to kPush has no numbers, that to kReport has the numbers of
// ReplayCounts. argv[0] is "peer". Returns the exit code.
int RunLoadPeer(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_PEER_H_
