// Detects connections with more concurrent calls than they may have.
//
// gRPC 1.51 enforces the limit on concurrent streams only after the client has
// acknowledged it. One that does not could begin any number of calls, and each
// costs some 8 KiB that no quota counts. So the calls are counted here, as
// gRPC's channelz reports them. A call that has been answered counts until a
// thread of gRPC has deleted it, and on a busy machine hundreds may wait for
// that; so only those count that had begun at the last look.
#ifndef SERVER_LIMITS_CALL_WATCH_H_
#define SERVER_LIMITS_CALL_WATCH_H_

#include <functional>
#include <string>

#include "common/mutex.h"
#include "common/thread.h"

namespace ps {

// Watches all gRPC servers of this process, ten times a second at most, for at
// most a fiftieth of the time.
class CallWatch {
 public:
  // `exceeded` is called, on a thread of its own, with the peer ("ipv4:HOST:
  // PORT") of each connection that has more than max_calls.
  CallWatch(int max_calls,
            std::function<void(const std::string& peer)> exceeded);

  // Waits for a running call of `exceeded`.
  ~CallWatch();

 private:
  void Loop();

  const int max_calls_;
  const std::function<void(const std::string& peer)> exceeded_;
  Mutex mu_;
  CondVar stop_changed_;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  Thread thread_;
};

}  // namespace ps

#endif  // SERVER_LIMITS_CALL_WATCH_H_
