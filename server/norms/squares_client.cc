#include "server/norms/squares_client.h"

#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "common/thread.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/parameter_server.pb.h"
#include "transport/grpc_server_channel.h"
#include "transport/proto_bytes.h"
#include "transport/server_channel.h"

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
        channel_(
            NewGrpcServerChannel({address, credentials, kMaxMessageBytes})),
        thread_("norms", [this] { Run(); }) {}

  ~SquaresClient() override { Stop(); }

  void Stop() override {
    {
      MutexLock lock(&mu_);
      stopping_ = true;
      changed_.SignalAll();
    }
    if (!thread_.joinable()) return;
    thread_.Join();
    channel_->Close(kDeadline);
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

  absl::StatusOr<SquaresMessage> Ask(const SquaresMessage& message) {
    RpcRequest request;
    request.rpc = Rpc::kAddSquares;
    request.message = ToBytes(message);
    request.timeout = kDeadline;
    for (;;) {
      {
        MutexLock lock(&mu_);
        answer_.reset();
      }
      channel_->Start(request, [this](absl::StatusOr<grpc::ByteBuffer> answer) {
        MutexLock lock(&mu_);
        answer_ = std::move(answer);
        changed_.SignalAll();
      });
      MutexLock lock(&mu_);
      while (!answer_.has_value() && !stopping_) changed_.Wait(&mu_);
      if (stopping_) return absl::CancelledError("this server stops");
      auto totals = FromBytes<SquaresMessage>(*std::move(answer_));
      const absl::Status& status = totals.status();
      if (status.ok()) return totals;
      if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status) &&
          !absl::IsCancelled(status)) {
        return Annotate(status, absl::StrCat("norms, server 0 at ", address_));
      }
      changed_.WaitFor(&mu_, kBackoff);
    }
  }

  const std::string address_;
  const std::unique_ptr<ServerChannel> channel_;

  Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<std::pair<SquaresMessage, Done>> work_ ABSL_GUARDED_BY(mu_);
  // The answer to the current call.
  std::optional<absl::StatusOr<grpc::ByteBuffer>> answer_ ABSL_GUARDED_BY(mu_);
  Thread thread_;  // This is last because it uses all members above.
};

}  // namespace

std::unique_ptr<SquaresCaller> NewSquaresClient(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  return std::make_unique<SquaresClient>(address, credentials);
}

}  // namespace ps
