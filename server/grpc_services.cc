#include "server/grpc_services.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "transport/grpc_status.h"

namespace ps {

// The next two are outside of the unnamed namespace, because
// tests/tsan_suppressions.txt refers to them. gRPC calls OnDone only after
// Finish and after the handler has returned, and then nothing else.

// A unary call. It deletes itself when gRPC is done with it.
class UnaryReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit UnaryReactor(grpc::ByteBuffer* response) : response_(response) {}

  HeldCall::Answer Answer() {
    return [this](absl::StatusOr<grpc::ByteBuffer> answer) {
      // Valid until Finish.
      if (answer.ok()) response_->Swap(&*answer);
      Finish(ToGrpcStatus(answer.status()));
    };
  }

  // Sets the call; must be called before the handler returns.
  void Carry(std::shared_ptr<HeldCall> call) {
    MutexLock lock(&mu_);
    call_ = std::move(call);
  }

  void OnCancel() override { call()->Cancel(); }

  void OnDone() override {
    call()->Done();
    delete this;
  }

 private:
  std::shared_ptr<HeldCall> call() {
    MutexLock lock(&mu_);
    return call_;
  }

  grpc::ByteBuffer* const response_;
  // The lock is for ThreadSanitizer, which does not see gRPC's own locks.
  Mutex mu_;
  std::shared_ptr<HeldCall> call_ ABSL_GUARDED_BY(mu_);
};

// A worker's standing call; it deletes itself when gRPC is done with it.
class AttendReply final : public grpc::ServerWriteReactor<AttendEvent> {
 public:
  AttendAnswer Answer() {
    AttendAnswer answer;
    answer.accept = [this] { StartSendInitialMetadata(); };
    answer.close = [this](const AttendEvent* event,
                          const absl::Status& status) {
      if (event == nullptr) {
        Finish(ToGrpcStatus(status));
        return;
      }
      event_ = *event;
      StartWriteAndFinish(&event_, grpc::WriteOptions(), ToGrpcStatus(status));
    };
    return answer;
  }

  void Carry(std::shared_ptr<AttendCall> call) {
    MutexLock lock(&mu_);
    call_ = std::move(call);
  }

  void OnCancel() override {
    std::shared_ptr<AttendCall> call;
    {
      MutexLock lock(&mu_);
      call = call_;
    }
    call->Cancel();
  }

  void OnDone() override {
    {
      MutexLock lock(&mu_);
      call_ = nullptr;
    }
    delete this;
  }

 private:
  AttendEvent event_;
  // The lock is for ThreadSanitizer, as above.
  Mutex mu_;
  std::shared_ptr<AttendCall> call_ ABSL_GUARDED_BY(mu_);
};

namespace {

template <typename Call>
grpc::ServerUnaryReactor* Carry(const Call& call, Rpc rpc,
                                grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) {
  auto* const reactor = new UnaryReactor(response);
  reactor->Carry(call(rpc, CallerOf(*context), *request, reactor->Answer()));
  return reactor;
}

}  // namespace

PsService::Unary* PsService::Start(Rpc rpc, Context* context,
                                   const Bytes* request, Bytes* response) {
  return Carry(
      [this](Rpc which, const Caller& caller, const Bytes& bytes,
             HeldCall::Answer answer) {
        return calls_->Call(which, caller, bytes, std::move(answer));
      },
      rpc, context, request, response);
}

grpc::ServerWriteReactor<AttendEvent>* PsService::Attend(
    Context* context, const AttendRequest* request) {
  auto* const reply = new AttendReply;
  reply->Carry(calls_->Attend(CallerOf(*context), *request, reply->Answer()));
  return reply;
}

grpc::ServerUnaryReactor* AuxService::Put(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) {
  return Carry(call_, Rpc::kAuxPut, context, request, response);
}

grpc::ServerUnaryReactor* AuxService::Get(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) {
  return Carry(call_, Rpc::kAuxGet, context, request, response);
}

}  // namespace ps
