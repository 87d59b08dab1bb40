// The input of a slice's updates.
#ifndef SERVER_SLICES_WORKER_PUSH_H_
#define SERVER_SLICES_WORKER_PUSH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "server/norms/squares_exchange.h"
#include "transport/slice_message.h"

namespace ps {

struct WorkerPush {
  int rank = 0;
  int64_t iteration = 0;
  double loss = 0;
  int64_t count = 0;   // The number of elements in the payload.
  bool dense = false;  // Whether the payload has all elements.
  // Whether the payload has only values for the positions of the iteration's
  // leader, and is not validated; `count` and `dense` are then unknown.
  bool lacks_positions = false;
  // Whether the server has put the leader's positions into it.
  bool completed = false;
  int64_t message_bytes = 0;  // The bytes on the wire.
  int64_t base_version = 0;   // The version of its weights.
  int64_t samples = 0;  // Its weight in the mean (CheckPushSamples); or 0.
  // The digest of those weights (SliceWeights::Digest), if it is to be
  // compared.
  std::optional<uint64_t> weights_digest;
  // The choice of worker 0: whether all workers compress this bucket in the
  // next iteration.
  std::optional<bool> compress_next;
  ReceivedPayload payload;  // Validated.
};

// The input of an update besides the slice's state.
struct UpdateRecord {
  // The pushes in the order in which they are added. At most one of each rank;
  // exactly one if each push is an update.
  std::vector<WorkerPush> pushes;
  // The totals of the update's exchanges of norms, by stage.
  std::vector<SquaresTotals> totals;
  // Whether a process of the job was asked to end.
  bool stop = false;
};

}  // namespace ps

#endif  // SERVER_SLICES_WORKER_PUSH_H_
