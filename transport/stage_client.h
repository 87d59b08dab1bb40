// Implements a worker's end of an exchange of arrays, by way of the servers.
#ifndef TRANSPORT_STAGE_CLIENT_H_
#define TRANSPORT_STAGE_CLIENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "proto/parameter_server.pb.h"
#include "transport/server_sessions.h"
#include "transport/stage_exchange.h"
#include "transport/stage_message.h"

namespace ps {

struct StageClientOptions {
  WorkerId worker;
  StageLimits limits;
  // The time of waiting after which the log says for whom a Get waits, and
  // again after as long.
  absl::Duration patience;
  // Not owned. The sessions are used from the first call on.
  const Clock* clock = nullptr;
  ServerSessions* sessions = nullptr;
};

// The client. Repeats calls as all calls of a session are repeated: a chunk
// until the server reports that its receiver has it, so that a restarted server
// gets it again. Must be destroyed after the sessions, whose threads use it.
class StageClient final : public StageExchange {
 public:
  explicit StageClient(const StageClientOptions& options);

  absl::Status Put(int to, int stream, int64_t number,
                   absl::Span<const float> values) override;
  absl::Status Get(int from, int stream, int64_t number,
                   absl::Span<float> values) override;

  // The function for ServerSessions::Watch.
  void SessionsChanged();

 private:
  // The peer and the stream.
  using StreamId = std::tuple<int, int>;
  struct Answer;

  // Checks the arguments, and whether the job continues.
  absl::Status Check(int peer, int stream, int64_t number) const;
  AuxMessage Header(int peer, int stream, int64_t number) const;
  // Returns the answer to a call of Get.
  absl::StatusOr<ReceivedStageMessage> Fetch(const AuxMessage& request);
  // Waits until `answer` is there, the job has failed, or patience is over.
  absl::Status Await(const Answer& answer);

  const StageClientOptions options_;

  mutable Mutex mu_;
  CondVar news_;
  int64_t changes_ ABSL_GUARDED_BY(mu_) = 0;   // Changes of the sessions.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);  // The failure of a put.
  std::map<StreamId, int64_t> last_put_ ABSL_GUARDED_BY(mu_);
  std::map<StreamId, int64_t> last_get_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // TRANSPORT_STAGE_CLIENT_H_
