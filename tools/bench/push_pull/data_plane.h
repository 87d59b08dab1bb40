// What `gradsieve bench push-pull` times: one vector that is pushed to another
// process and pulled back, over plain TCP or through a parameter server.
#ifndef TOOLS_BENCH_PUSH_PULL_DATA_PLANE_H_
#define TOOLS_BENCH_PUSH_PULL_DATA_PLANE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ps {

struct DataPlaneOptions {
  int64_t elements = 0;
  int rank = 0;
  int num_workers = 1;
  // Plain TCP: the server's port, and the number of connections to it.
  int port = 0;
  int connections = 1;
  // Parameter server: elements 0, one_of, 2 one_of, ... are pushed, and their
  // new values come back. With 1 all elements are pushed, and no weights come
  // back.
  int64_t one_of = 1;
};

struct PushTraffic {
  int64_t payload_bytes = 0;  // 4 for each element of a dense push.
  // Size of the answers to the push, including headers: a parameter server may
  // answer with its new weights.
  int64_t answer_bytes = 0;
};

// One worker's side. All workers push equally often; pushed_values.h defines
// what each of them pushes and which values they must pull. For one thread at a
// time.
class DataPlane {
 public:
  virtual ~DataPlane() = default;

  // Sends the whole vector once. Returns when every part of it has been
  // answered.
  virtual absl::StatusOr<PushTraffic> Push() = 0;

  // Fetches the other side's whole vector. Returns its bytes, 4 for each
  // element.
  virtual absl::StatusOr<int64_t> Pull() = 0;

  // Compares what the last Pull() fetched with the values expected after
  // `pushes` pushes of every worker. Errors: kDataLoss with the first element
  // that is wrong.
  virtual absl::Status Check(int64_t pushes) const = 0;

  // Must be the last call. Waits until all workers have made it.
  virtual absl::Status Finish() = 0;
};

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_DATA_PLANE_H_
