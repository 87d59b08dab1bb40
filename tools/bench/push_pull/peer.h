// The processes between which `gradsieve bench push-pull` moves bytes:
// `gradsieve bench push-pull peer ...`.
#ifndef TOOLS_BENCH_PUSH_PULL_PEER_H_
#define TOOLS_BENCH_PUSH_PULL_PEER_H_

namespace ps {

// The values of --role.
constexpr char kRawServerRole[] = "raw-server";
constexpr char kRawWorkerRole[] = "raw-worker";
constexpr char kWorkerRole[] = "worker";

// Writes to stdout that it is ready, then answers the requests from its
// standard input (RunPeer). A raw server's first answer is its port. argv[0] is
// "peer". Returns the exit code.
int RunPushPullPeer(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_PEER_H_
