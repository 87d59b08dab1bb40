#include "server/norms/squares_client.h"

#include <deque>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "grpcpp/client_context.h"
#include "proto/parameter_server.grpc.pb.h"
#include "transport/channel.h"
#include "transport/deadline_after.h"
#include "transport/grpc_status.h"

namespace ps {
namespace {

// The answer waits for the slowest server. After the deadline the call is
// repeated, which is safe because a repeat counts only once.
constexpr absl::Duration kDeadline = absl::Seconds(10);
constexpr absl::Duration kBackoff = absl::Milliseconds(100);
constexpr int64_t kMaxMessageBytes = 4 << 20;

class SquaresClient final : public SquaresCaller {
 public:
  SquaresClient(const std::string& address,
                const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : address_(address),
        channel_(MakeChannel(address, kMaxMessageBytes, credentials)),
        stub_(ParameterServer::NewStub(channel_)),
        thread_([this] { Run(); }) {}

  ~SquaresClient() override { Stop(); }

  void Stop() override {
    {
      MutexLock lock(&mu_);
      stopping_ = true;
      if (context_ != nullptr) context_->TryCancel();
      changed_.SignalAll();
    }
    if (thread_.joinable()) thread_.join();
  }

  void Call(const SquaresMessage& request, Done done) override {
    {
      MutexLock lock(&mu_);
      if (!stopping_) {
        work_.emplace_back(request, std::move(done));
        changed_.SignalAll();
        return;
      }
    }
    done(absl::CancelledError("this server stops"));
  }

 private:
  void Run() {
    for (;;) {
      std::pair<SquaresMessage, Done> work;
      {
        MutexLock lock(&mu_);
        while (work_.empty() && !stopping_) changed_.Wait(&mu_);
        if (work_.empty()) return;
        work = std::move(work_.front());
        work_.pop_front();
      }
      work.second(Ask(work.first));
    }
  }

  absl::StatusOr<SquaresMessage> Ask(const SquaresMessage& request) {
    for (;;) {
      grpc::ClientContext context;
      context.set_wait_for_ready(true);
      context.set_deadline(DeadlineAfter(kDeadline));
      {
        MutexLock lock(&mu_);
        if (stopping_) return absl::CancelledError("this server stops");
        context_ = &context;
      }
      SquaresMessage response;
      const absl::Status status =
          FromGrpcStatus(stub_->AddSquares(&context, request, &response));
      MutexLock lock(&mu_);
      context_ = nullptr;
      if (status.ok()) return response;
      if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status) &&
          !absl::IsCancelled(status)) {
        return Annotate(status, absl::StrCat("norms, server 0 at ", address_));
      }
      if (!stopping_) changed_.WaitFor(&mu_, kBackoff);
    }
  }

  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<ParameterServer::Stub> stub_;

  Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::deque<std::pair<SquaresMessage, Done>> work_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;  // Declared last because it uses all members above.
};

}  // namespace

std::unique_ptr<SquaresCaller> NewSquaresClient(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  return std::make_unique<SquaresClient>(address, credentials);
}

}  // namespace ps
