// Starts one process.
#ifndef TOOLS_PROCESS_SPAWN_H_
#define TOOLS_PROCESS_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace ps {

// Stands for the caller's own network.
constexpr int kOwnNetwork = -1;
// Stands for an input that has ended.
constexpr int kEmptyInput = -1;

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

// Children do not inherit its ends. Errors: those of the system.
absl::StatusOr<Pipe> MakePipe();

struct SpawnedProcess {
  pid_t pid = -1;
  UniqueFd pidfd;          // Readable when the process has ended.
  UniqueFd stdout_reader;  // Both are non-blocking.
  UniqueFd stderr_reader;
};

// arguments[0] is the program's path; PATH is not searched. The process has
// - its output in the two pipes, and the descriptor `input` as its input;
// - its own process group, so that Ctrl-C reaches only the caller, who decides;
// - SIGKILL as soon as the calling thread ends, however it ends, so that no
//   process remains if the caller is killed. Call it from a thread that lives
//   as long as the process should.
// It runs in the network namespace that the descriptor `network_namespace` is
// open on. Errors: kNotFound, kPermissionDenied or others of the system, with
// the program's path.
absl::StatusOr<SpawnedProcess> Spawn(const std::vector<std::string>& arguments,
                                     int network_namespace = kOwnNetwork,
                                     int input = kEmptyInput);

}  // namespace ps

#endif  // TOOLS_PROCESS_SPAWN_H_
