// Keeps chunks of arrays that workers leave for each other at a server.
#ifndef SERVER_RELAY_RELAY_H_
#define SERVER_RELAY_RELAY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "server/limits/byte_credit.h"
#include "transport/stage_message.h"

namespace ps {

struct RelayStream {
  int from = 0;
  int to = 0;
  int stream = 0;

  bool operator<(const RelayStream& other) const {
    return std::tie(from, to, stream) <
           std::tie(other.from, other.to, other.stream);
  }
};

// The place of a chunk in its stream.
struct RelayPlace {
  int64_t number = 0;
  int64_t chunk = 0;

  bool operator<(const RelayPlace& other) const {
    return std::tie(number, chunk) < std::tie(other.number, other.chunk);
  }
};

// Stores chunks, in any order. Thread-safe. Calls functions on the thread that
// brings what they wait for, and never under its lock.
class Relay {
 public:
  // The functions are called once each.
  using PutDone = std::function<void(const absl::Status&)>;
  using GetDone = std::function<void(
      absl::StatusOr<std::shared_ptr<const ReceivedStageMessage>>)>;

  // `credit_bytes` is the limit of each sender.
  Relay(int num_workers, int64_t credit_bytes);

  // Keeps a chunk until its receiver asks for a later one; calls `done` then,
  // or at once if it has asked for one before. A repeat is not kept; its `done`
  // replaces the previous one, which gets kCancelled. Errors, to `done`:
  // kUnavailable if the sender has no credit left.
  void Put(const RelayStream& stream, ReceivedStageMessage chunk, PutDone done);

  // Passes the chunk at `place` to `done` when it is there. Discards the
  // earlier chunks of the stream, and cancels an earlier call that waits there
  // with kCancelled: its caller has repeated it. Errors, to `done`:
  // kInvalidArgument if the chunk was discarded.
  void Get(const RelayStream& stream, const RelayPlace& place, GetDone done);

  // Completes all waiting and later calls with `status`; if it is OK, Put
  // returns OK and Get kAborted.
  void End(const absl::Status& status);

  // The bytes of this sender's chunks, and of answers with them that have not
  // been sent.
  int64_t held_bytes(int from) const { return credit_.held_bytes(from); }

 private:
  struct Kept {
    std::shared_ptr<const ReceivedStageMessage> chunk;
    PutDone done;
  };
  struct State {
    RelayPlace begin;  // Earlier chunks are discarded.
    std::map<RelayPlace, Kept> kept;
    GetDone waiting;  // The call for the chunk at `begin`, or null.
  };

  ByteCredit credit_;
  Mutex mu_;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status result_ ABSL_GUARDED_BY(mu_);
  std::map<RelayStream, State> streams_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_RELAY_RELAY_H_
