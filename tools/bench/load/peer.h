// The processes of the simulated workers are the same program, started as
// `gradsieve bench load peer ...`. People do not call that.
#ifndef TOOLS_BENCH_LOAD_PEER_H_
#define TOOLS_BENCH_LOAD_PEER_H_

namespace ps {

// The first argument of `gradsieve bench load` that makes it a peer.
constexpr char kLoadPeer[] = "peer";

// Prepares the payloads, joins the job with all its workers, and says on stdout
// that it is ready: streams, ring and bytes of what it replays. Then does what
// comes on its file descriptor --requests-fd (tools/bench_processes). kPush is
// answered with nothing, kReport with the numbers of ReplayCounts. argv[0] is
// "peer". Returns the exit code.
int RunLoadPeer(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_PEER_H_
