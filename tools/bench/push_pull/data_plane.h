// What `gradsieve bench push-pull` times: one vector that is pushed to another
// process and pulled back, over plain TCP or through a parameter server.
#ifndef TOOLS_BENCH_PUSH_PULL_DATA_PLANE_H_
#define TOOLS_BENCH_PUSH_PULL_DATA_PLANE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ps {

struct PushTraffic {
  int64_t payload_bytes = 0;  // 4 for each element of a dense push.
  // What came back with the push, headers included: a parameter server may
  // answer with its new weights.
  int64_t answer_bytes = 0;
};

// One worker's side. All workers push equally often; what each of them pushes,
// and what they must find when they pull, says pushed_values.h. One thread at a
// time.
class DataPlane {
 public:
  virtual ~DataPlane() = default;

  // Sends the whole vector once. Returns when every part of it has been
  // answered.
  virtual absl::StatusOr<PushTraffic> Push() = 0;

  // Fetches the whole vector as it is over there. Returns its bytes, 4 for each
  // element.
  virtual absl::StatusOr<int64_t> Pull() = 0;

  // Compares what the last Pull() fetched with what must be there after so many
  // pushes of every worker. Errors: kDataLoss with the first element that is
  // wrong.
  virtual absl::Status Check(int64_t pushes) const = 0;

  // Nothing more is pushed or pulled; waits until all workers are so far.
  virtual absl::Status Finish() = 0;
};

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_DATA_PLANE_H_
