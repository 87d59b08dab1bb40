#include "tests/transport/fake_server.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace ps {

class FakeServer::AttendCall final
    : public grpc::ServerWriteReactor<AttendEvent> {
 public:
  explicit AttendCall(FakeServer* server) : server_(server) {
    StartSendInitialMetadata();
  }

  void OnCancel() override { server_->EndAttendance(this); }
  void OnDone() override { delete this; }

 private:
  FakeServer* const server_;
};

class FakeServer::HeldPush final : public grpc::ServerUnaryReactor {
 public:
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
};

FakeServer::FakeServer(int port, grpc::Service* other) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port),
                           grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  if (other != nullptr) builder.RegisterService(other);
  server_ = builder.BuildAndStart();
  CHECK(server_ != nullptr);
}

FakeServer::~FakeServer() {
  Die();
  // All callbacks have returned; ThreadSanitizer learns this only from the
  // lock.
  MutexLock lock(&mu_);
  CHECK(attending_.empty());
}

std::string FakeServer::address() const {
  return absl::StrCat("127.0.0.1:", port_);
}

void FakeServer::Die() { server_->Shutdown(absl::ToChronoTime(absl::Now())); }

void FakeServer::EndAttendance(AttendCall* call) {
  {
    MutexLock lock(&mu_);
    if (attending_.erase(call) == 0) return;
  }
  call->Finish(grpc::Status::OK);
}

grpc::ServerUnaryReactor* FakeServer::Register(
    grpc::CallbackServerContext* context, const RegisterRequest*,
    RegisterResponse*) {
  {
    MutexLock lock(&mu_);
    ++num_registered_;
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<AttendEvent>* FakeServer::Attend(
    grpc::CallbackServerContext*, const AttendRequest*) {
  auto* const call = new AttendCall(this);
  MutexLock lock(&mu_);
  attending_.insert(call);
  return call;
}

grpc::ServerUnaryReactor* FakeServer::Push(grpc::CallbackServerContext*,
                                           const SliceMessage*, SliceMessage*) {
  MutexLock lock(&mu_);
  pushed_ = true;
  changed_.SignalAll();
  return new HeldPush;
}

grpc::ServerUnaryReactor* FakeServer::Finish(
    grpc::CallbackServerContext* context, const FinishRequest*,
    FinishResponse*) {
  std::set<AttendCall*> attending;
  {
    MutexLock lock(&mu_);
    attending = attending_;
  }
  for (AttendCall* call : attending) EndAttendance(call);
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "answer lost"));
  return reactor;
}

int FakeServer::num_registered() {
  MutexLock lock(&mu_);
  return num_registered_;
}

void FakeServer::AwaitPush() {
  MutexLock lock(&mu_);
  while (!pushed_) changed_.Wait(&mu_);
}

}  // namespace ps
