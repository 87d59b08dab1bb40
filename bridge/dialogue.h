// The bridge's side of the conversation with a training process
// (bridge/messages.h).
#ifndef BRIDGE_DIALOGUE_H_
#define BRIDGE_DIALOGUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "worker/records/training_observer.h"

namespace ps {

struct DialogueOptions {
  // Validated; an error is the answer to all that the process says.
  absl::StatusOr<JobConfig> config;
  int worker_rank = 0;
  uint64_t incarnation = 0;
  std::string name;           // As in BridgeSessionOptions.
  std::string run_directory;  // As in BridgeSessionOptions, as is the next one.
  std::vector<TrainingObserver*> observers;
  int socket = -1;  // Of type SOCK_SEQPACKET. Not owned.
  // Readable when the training process has ended, which may leave the socket
  // open in its children; -1: only the socket counts. Not owned.
  int process = -1;
};

// Does what the training process asks for, until it has finished or given up,
// or has ended; the servers are then told why. While this thread waits for
// servers, another one notices when the process hangs up or ends. Returns OK
// after FINISH, kUnavailable if the process has ended without it, otherwise the
// first error. Nothing that the process sends ends this one.
absl::Status Converse(const DialogueOptions& options);

}  // namespace ps

#endif  // BRIDGE_DIALOGUE_H_
