#include "transport/grpc_server_channel.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/client_callback.h"
#include "proto/parameter_server.grpc.pb.h"
#include "transport/channel.h"
#include "transport/deadline_after.h"
#include "transport/grpc_status.h"

namespace ps {
namespace {

// The Attend call counts as a connection of its own, so that it can be
// cancelled alone.
constexpr int kAttending = -1;

const char* MethodOf(Rpc rpc) {
  switch (rpc) {
    case Rpc::kRegister:
      return "/ps.ParameterServer/Register";
    case Rpc::kFindSnapshots:
      return "/ps.ParameterServer/FindSnapshots";
    case Rpc::kRestore:
      return "/ps.ParameterServer/Restore";
    case Rpc::kInitializeSlice:
      return "/ps.ParameterServer/InitializeSlice";
    case Rpc::kPush:
      return "/ps.ParameterServer/Push";
    case Rpc::kPull:
      return "/ps.ParameterServer/Pull";
    case Rpc::kGetPositions:
      return "/ps.ParameterServer/GetPositions";
    case Rpc::kSaveSnapshot:
      return "/ps.ParameterServer/SaveSnapshot";
    case Rpc::kStop:
      return "/ps.ParameterServer/Stop";
    case Rpc::kFinish:
      return "/ps.ParameterServer/Finish";
    case Rpc::kGetStatus:
      return "/ps.ParameterServer/GetStatus";
    case Rpc::kAuxPut:
      return "/ps.Aux/Put";
    case Rpc::kAuxGet:
      return "/ps.Aux/Get";
    case Rpc::kAddSquares:
      return "/ps.ParameterServer/AddSquares";
  }
  return "";
}

}  // namespace

// The next two are outside of the unnamed namespace, because
// tests/tsan_suppressions.txt refers to AttendReactor.

// The running calls. gRPC's callbacks share it, because they may outlive the
// channel if gRPC does not end a call in time.
class RunningCalls {
 public:
  // Adds a call; returns false if it must not be made, as the channel closes.
  bool Add(grpc::ClientContext* context, int connection) {
    MutexLock lock(&mu_);
    if (closing_) return false;
    contexts_[context] = connection;
    return true;
  }

  // Runs `handler` unless the channel is closed.
  template <typename Handler>
  void Deliver(Handler handler) {
    {
      MutexLock lock(&mu_);
      if (closed_) return;
      ++delivering_;
    }
    handler();
    MutexLock lock(&mu_);
    --delivering_;
    if (delivering_ == 0) changed_.SignalAll();
  }

  // Removes a call; must be the last use, before the context is deleted.
  void Remove(grpc::ClientContext* context) {
    MutexLock lock(&mu_);
    contexts_.erase(context);
    if (contexts_.empty()) changed_.SignalAll();
  }

  void CancelConnection(int connection) {
    MutexLock lock(&mu_);
    for (const auto& [context, number] : contexts_) {
      if (number == connection) context->TryCancel();
    }
  }

  void Close(absl::Duration timeout) {
    const absl::Time deadline = SteadyClock()->Now() + timeout;
    MutexLock lock(&mu_);
    closing_ = true;
    for (const auto& entry : contexts_) entry.first->TryCancel();
    while (!contexts_.empty() && SteadyClock()->Now() < deadline) {
      changed_.WaitFor(&mu_, deadline - SteadyClock()->Now());
    }
    closed_ = true;
    // These are our own handlers, which are short.
    while (delivering_ > 0) changed_.Wait(&mu_);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  // The contexts, with the number of the connection.
  std::map<grpc::ClientContext*, int> contexts_ ABSL_GUARDED_BY(mu_);
  int delivering_ ABSL_GUARDED_BY(mu_) = 0;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

// A standing call; it deletes itself when gRPC is done with it.
class AttendReactor final : public grpc::ClientReadReactor<AttendEvent> {
 public:
  AttendReactor(std::shared_ptr<grpc::Channel> channel,
                std::shared_ptr<RunningCalls> calls,
                const AttendRequest& request, AttendHandler handler);

  void Start(absl::Duration timeout) {
    context_.set_deadline(DeadlineAfter(timeout));
    if (!calls_->Add(&context_, kAttending)) {
      delete this;
      return;
    }
    stub_->async()->Attend(&context_, &request_, this);
    StartRead(&event_);
    StartCall();
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (ok) calls_->Deliver(handler_.accepted);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    calls_->Deliver([this] { handler_.event(event_); });
    StartRead(&event_);
  }

  void OnDone(const grpc::Status& status) override {
    calls_->Deliver([&] { handler_.closed(FromGrpcStatus(status)); });
    calls_->Remove(&context_);
    delete this;
  }

 private:
  const std::unique_ptr<ParameterServer::Stub> stub_;
  const std::shared_ptr<RunningCalls> calls_;
  grpc::ClientContext context_;
  const AttendRequest request_;
  const AttendHandler handler_;
  AttendEvent event_;
};

// Not in the class, where it would be inlined and hidden from ThreadSanitizer.
AttendReactor::AttendReactor(std::shared_ptr<grpc::Channel> channel,
                             std::shared_ptr<RunningCalls> calls,
                             const AttendRequest& request,
                             AttendHandler handler)
    : stub_(ParameterServer::NewStub(std::move(channel))),
      calls_(std::move(calls)),
      request_(request),
      handler_(std::move(handler)) {}

namespace {

class GrpcServerChannel final : public ServerChannel {
 public:
  explicit GrpcServerChannel(const ServerChannelOptions& options)
      : options_(options), calls_(std::make_shared<RunningCalls>()) {
    Open(0);
  }

  void Open(int connection) override {
    std::shared_ptr<grpc::Channel> channel = MakeChannel(
        options_.address, options_.max_message_bytes, options_.credentials);
    {
      MutexLock lock(&mu_);
      channels_.resize(std::max<size_t>(channels_.size(), connection + 1));
      channels_[connection].swap(channel);
    }
    calls_->CancelConnection(connection);
    if (connection == 0) calls_->CancelConnection(kAttending);
  }

  void Start(const RpcRequest& request, Done done) override {
    struct UnaryCall {
      grpc::ClientContext context;
      grpc::ByteBuffer request;
      grpc::ByteBuffer response;
      Done done;
      std::shared_ptr<RunningCalls> calls;
    };
    auto* const call = new UnaryCall;
    call->calls = calls_;
    call->request = request.message;
    call->done = std::move(done);
    call->context.set_deadline(DeadlineAfter(request.timeout));
    if (!calls_->Add(&call->context, request.connection)) {
      delete call;
      return;
    }
    grpc::GenericStub(ChannelOf(request.connection))
        .UnaryCall(&call->context, MethodOf(request.rpc), grpc::StubOptions(),
                   &call->request, &call->response,
                   // Two pointers lie inside gRPC's object, and nothing else is
                   // read before a lock is taken.
                   [call, calls = calls_.get()](const grpc::Status& status) {
                     calls->Deliver([&] {
                       if (status.ok()) {
                         call->done(std::move(call->response));
                       } else {
                         call->done(FromGrpcStatus(status));
                       }
                     });
                     calls->Remove(&call->context);
                     delete call;
                   });
  }

  void Attend(const AttendRequest& request, absl::Duration timeout,
              AttendHandler handler) override {
    calls_->CancelConnection(kAttending);
    (new AttendReactor(ChannelOf(0), calls_, request, std::move(handler)))
        ->Start(timeout);
  }

  void Close(absl::Duration timeout) override { calls_->Close(timeout); }

 private:
  std::shared_ptr<grpc::Channel> ChannelOf(int connection) {
    MutexLock lock(&mu_);
    return channels_[connection];
  }

  const ServerChannelOptions options_;
  const std::shared_ptr<RunningCalls> calls_;

  Mutex mu_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::unique_ptr<ServerChannel> NewGrpcServerChannel(
    const ServerChannelOptions& options) {
  return std::make_unique<GrpcServerChannel>(options);
}

}  // namespace ps
