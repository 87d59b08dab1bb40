// Starts one process.
#ifndef TOOLS_SPAWN_H_
#define TOOLS_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace ps {

// Stands for the network that the caller is in.
constexpr int kOwnNetwork = -1;

struct SpawnedProcess {
  pid_t pid = -1;
  UniqueFd pidfd;          // Readable when the process has ended.
  UniqueFd stdout_reader;  // Both do not block.
  UniqueFd stderr_reader;
};

// arguments[0] is the program's path; PATH is not searched. The process has
// - its output in the two pipes and nothing to read from;
// - a process group of its own, so that Ctrl-C reaches only us, and we decide;
// - SIGKILL as soon as the calling thread ends, however that ends: nothing is
//   left behind when we are killed ourselves. So call it from a thread that
//   lives as long as the process should.
// It runs in the network namespace that the descriptor `network_namespace` is
// open on. Errors: kNotFound, kPermissionDenied or other with the program's
// path, if it cannot be run there.
absl::StatusOr<SpawnedProcess> Spawn(const std::vector<std::string>& arguments,
                                     int network_namespace = kOwnNetwork);

}  // namespace ps

#endif  // TOOLS_SPAWN_H_
