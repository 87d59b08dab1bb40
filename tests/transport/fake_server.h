// A server that misbehaves as a test requests, in ways in which a real server
// does only when it is killed.
#ifndef TESTS_TRANSPORT_FAKE_SERVER_H_
#define TESTS_TRANSPORT_FAKE_SERVER_H_

#include <memory>
#include <set>
#include <string>

#include "common/mutex.h"
#include "grpcpp/server.h"
#include "proto/parameter_server.grpc.pb.h"

namespace ps {

// Accepts every worker and holds every push. Thread-safe.
class FakeServer final : public ParameterServer::CallbackService {
 public:
  // Listens on this port, or on a free one; CHECKs that this succeeds. Serves
  // `other` as well, which is not owned.
  explicit FakeServer(int port = 0, grpc::Service* other = nullptr);
  ~FakeServer() override;

  int port() const { return port_; }
  std::string address() const;

  // Breaks all connections at once, like a process that is killed.
  void Die();

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const RegisterRequest* request,
                                     RegisterResponse* response) override;
  grpc::ServerWriteReactor<AttendEvent>* Attend(
      grpc::CallbackServerContext* context,
      const AttendRequest* request) override;
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context,
                                 const SliceMessage* request,
                                 SliceMessage* response) override;
  // Ends the Attend calls as at the end of a job, but the answer to Finish is
  // lost.
  grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context,
                                   const FinishRequest* request,
                                   FinishResponse* response) override;

  // The number of calls of Register so far.
  int num_registered();

  // Blocks until a push is held.
  void AwaitPush();

 private:
  class AttendCall;
  class HeldPush;

  // Ends the call as at the end of a job; the call may already be gone.
  void EndAttendance(AttendCall* call);

  int port_ = 0;
  Mutex mu_;
  CondVar changed_;
  int num_registered_ ABSL_GUARDED_BY(mu_) = 0;
  bool pushed_ ABSL_GUARDED_BY(mu_) = false;
  std::set<AttendCall*> attending_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace ps

#endif  // TESTS_TRANSPORT_FAKE_SERVER_H_
