// A worker's long-lived call to one server. While it is open, the server knows
// that the worker is alive, and the worker is told if the job fails.
#ifndef TRANSPORT_ATTENDANCE_H_
#define TRANSPORT_ATTENDANCE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "proto/parameter_server.grpc.pb.h"

namespace ps {

// Thread-safe.
class Attendance {
 public:
  // Opens the call, and reopens it whenever the connection breaks. `changed` is
  // called from gRPC's threads when failure() or broken_since() has changed; it
  // must not call back into this object. `stub` is not owned and must outlive
  // this.
  Attendance(ParameterServer::Stub* stub, const WorkerId& worker,
             std::function<void()> changed);

  // Closes the call and waits until gRPC has released it.
  ~Attendance();

  // Not OK if the server has failed the job or refuses this worker.
  absl::Status failure() const;

  // Whether the server has said that the job is done because all workers have
  // finished.
  bool job_done() const;

  // When the connection broke; InfiniteFuture while it is established, or after
  // the server has ended the call.
  absl::Time broken_since() const;

 private:
  class Call;

  void Open() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnAccepted();
  void OnEvent(const AttendEvent& event);
  void OnClosed(const absl::Status& status);

  ParameterServer::Stub* const stub_;  // Not owned.
  const WorkerId worker_;
  const std::function<void()> changed_;

  mutable Mutex mu_;
  CondVar closed_;
  Call* call_ ABSL_GUARDED_BY(mu_) = nullptr;  // Deletes itself when done.
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool job_done_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time broken_since_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // TRANSPORT_ATTENDANCE_H_
