// A channel whose server is the test.
#ifndef TESTS_TRANSPORT_FAKE_CHANNEL_H_
#define TESTS_TRANSPORT_FAKE_CHANNEL_H_

#include <list>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "transport/server_channel.h"

namespace ps {

// Keeps calls until the test takes and answers them. Thread-safe.
class FakeChannel final : public ServerChannel {
 public:
  struct Call {
    RpcRequest request;
    Done done;
  };

  void Open(int connection) override {
    MutexLock lock(&mu_);
    opened_.push_back(connection);
    for (auto it = calls_.begin(); it != calls_.end();) {
      const auto call = it++;
      if (call->request.connection != connection) continue;
      cancelled_.splice(cancelled_.end(), calls_, call);
    }
  }

  void Start(const RpcRequest& request, Done done) override {
    MutexLock lock(&mu_);
    calls_.push_back({request, std::move(done)});
    changed_.SignalAll();
  }

  void Attend(const AttendRequest&, absl::Duration,
              AttendHandler handler) override {
    MutexLock lock(&mu_);
    attending_ = std::move(handler);
  }

  void Close(absl::Duration timeout) override {
    MutexLock lock(&mu_);
    if (closed_within != nullptr) *closed_within = timeout;
  }

  // Where Close writes its timeout, unless null.
  absl::Duration* closed_within = nullptr;

  // Waits until there is such a call, and takes it.
  Call Take(Rpc rpc) {
    MutexLock lock(&mu_);
    for (;;) {
      for (auto it = calls_.begin(); it != calls_.end(); ++it) {
        if (it->request.rpc != rpc) continue;
        Call call = std::move(*it);
        calls_.erase(it);
        return call;
      }
      changed_.Wait(&mu_);
    }
  }

  // The number of these calls that the test has not taken.
  int Count(Rpc rpc) {
    MutexLock lock(&mu_);
    int count = 0;
    for (const Call& call : calls_) count += call.request.rpc == rpc;
    return count;
  }

  // Lets the calls end that Open has cancelled.
  void EndCancelled() {
    std::list<Call> cancelled;
    {
      MutexLock lock(&mu_);
      cancelled.swap(cancelled_);
    }
    for (const Call& call : cancelled) call.done(absl::CancelledError(""));
  }

  AttendHandler attending() {
    MutexLock lock(&mu_);
    return attending_;
  }
  std::vector<int> opened() {
    MutexLock lock(&mu_);
    return opened_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::list<Call> calls_ ABSL_GUARDED_BY(mu_);
  std::list<Call> cancelled_ ABSL_GUARDED_BY(mu_);
  AttendHandler attending_ ABSL_GUARDED_BY(mu_);
  std::vector<int> opened_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // TESTS_TRANSPORT_FAKE_CHANNEL_H_
