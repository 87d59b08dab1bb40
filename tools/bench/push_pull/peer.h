// The processes between which `gradsieve bench push-pull` moves bytes are the
// same program, started as `gradsieve bench push-pull peer ...`. People do not
// call that.
#ifndef TOOLS_BENCH_PUSH_PULL_PEER_H_
#define TOOLS_BENCH_PUSH_PULL_PEER_H_

namespace ps {

// The first argument of `gradsieve bench push-pull` that makes it a peer.
constexpr char kPushPullPeer[] = "peer";

// The roles, values of --role.
constexpr char kRawServerRole[] = "raw-server";
constexpr char kRawWorkerRole[] = "raw-worker";
constexpr char kWorkerRole[] = "worker";

// Says on stdout that it is ready, then does what comes on its file descriptor
// --requests-fd, one after the other (peer_messages.h), until that is closed or
// something is wrong. A raw server's first answer is its port. argv[0] is
// "peer". Returns the exit code.
int RunPushPullPeer(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_PEER_H_
