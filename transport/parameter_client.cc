#include "transport/parameter_client.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "proto/parameter_server.grpc.pb.h"
#include "transport/attendance.h"
#include "transport/channel.h"
#include "transport/grpc_status.h"
#include "transport/slice_message.h"

namespace ps {
namespace {

// A push waits for the slowest worker; when this passes it is sent again,
// which the server counts once.
constexpr absl::Duration kCallDeadline = absl::Seconds(60);
constexpr absl::Duration kShortCallDeadline = absl::Seconds(2);
constexpr absl::Duration kFirstBackoff = absl::Milliseconds(50);
constexpr absl::Duration kMaxBackoff = absl::Seconds(1);

constexpr char kPush[] = "/ps.ParameterServer/Push";
constexpr char kPull[] = "/ps.ParameterServer/Pull";
constexpr char kInitializeSlice[] = "/ps.ParameterServer/InitializeSlice";
constexpr char kFinish[] = "/ps.ParameterServer/Finish";

// One server as a worker sees it.
struct Server {
  int index = 0;
  std::string address;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<ParameterServer::Stub> stub;
  std::unique_ptr<grpc::GenericStub> generic_stub;
  std::unique_ptr<Attendance> attendance;

  std::string Name() const {
    return absl::StrCat("server ", index, " at ", address);
  }
};

// One RPC under way, and what is needed to make it again.
struct Call {
  Server* server = nullptr;
  const char* method = nullptr;
  const Slice* slice = nullptr;  // Null for Finish.
  grpc::ByteBuffer request;

  std::unique_ptr<grpc::ClientContext> context;
  grpc::ByteBuffer response;
  absl::Status status;
  absl::Time retry_at;
  absl::Duration backoff = kFirstBackoff;
};

void SetDeadline(grpc::ClientContext* context, absl::Duration deadline) {
  context->set_deadline(absl::ToChronoTime(absl::Now() + deadline));
}

class GrpcParameterClient final : public ParameterClient {
 public:
  GrpcParameterClient(const ParameterClientOptions& options,
                      const ShardMap* shard_map)
      : options_(options), shard_map_(shard_map) {
    worker_.set_rank(options.worker_rank);
    worker_.set_incarnation(options.incarnation);
  }

  ~GrpcParameterClient() override;

  absl::Status Connect();

  absl::Status InitializeWeights(
      const std::vector<const float*>& bucket_weights) override;
  absl::Status PullWeights(const AnswerHandler& handler) override;
  absl::Status Push(int64_t iteration, int bucket, double loss,
                    const std::vector<PayloadBuffer>& parts) override;
  absl::Status AwaitAnswers(const AnswerHandler& handler) override;
  absl::Status Finish(const absl::Status& failure) override;

 private:
  absl::Status RegisterAt(Server* server);
  SliceMessage Header(const Slice& slice) const;
  void StartSliceCall(const char* method, const Slice& slice,
                      const SliceMessage& header, const PayloadBuffer& payload);
  void Start(std::unique_ptr<Call> call);
  // Completes every call under way: `done` gets each that succeeded. Calls for
  // which `again` holds are made again until startup_timeout has passed.
  absl::Status Drain(
      const std::function<absl::Status(const Call&)>& done,
      const std::function<bool(const absl::Status&)>& again = nullptr);
  absl::Status HandleAnswer(const Call& call, const AnswerHandler& handler);
  void RestartDueCalls();
  // Tells every server once: one that is gone needs no telling, and no answer
  // to the calls still under way matters.
  absl::Status GiveUp(const FinishRequest& request);
  absl::Status ServerFailure() const;
  void LogWhomWeWaitFor();

  const ParameterClientOptions options_;
  const ShardMap* const shard_map_;  // Not owned.
  WorkerId worker_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Call>> waiting_;  // For their retry_at.

  Mutex mu_;
  CondVar changed_;
  std::map<Call*, std::unique_ptr<Call>> running_ ABSL_GUARDED_BY(mu_);
  std::deque<std::unique_ptr<Call>> completed_ ABSL_GUARDED_BY(mu_);
};

GrpcParameterClient::~GrpcParameterClient() {
  // Connect may have stopped before some of them had one.
  for (const auto& server : servers_) server->attendance.reset();
  MutexLock lock(&mu_);
  for (const auto& entry : running_) entry.first->context->TryCancel();
  while (!running_.empty()) changed_.Wait(&mu_);
}

absl::Status GrpcParameterClient::Connect() {
  for (size_t i = 0; i < options_.servers.size(); ++i) {
    auto server = std::make_unique<Server>();
    server->index = static_cast<int>(i);
    server->address = options_.servers[i];
    server->channel = MakeChannel(server->address,
                                  MaxMessageBytes(options_.max_slice_elements));
    server->stub = ParameterServer::NewStub(server->channel);
    server->generic_stub = std::make_unique<grpc::GenericStub>(server->channel);
    servers_.push_back(std::move(server));
  }
  for (const auto& server : servers_) {
    PS_RETURN_IF_ERROR(RegisterAt(server.get()));
    // At once: the server counts a worker that does not attend as lost.
    server->attendance =
        std::make_unique<Attendance>(server->stub.get(), worker_, [this] {
          MutexLock lock(&mu_);
          changed_.SignalAll();
        });
  }
  return absl::OkStatus();
}

absl::Status GrpcParameterClient::RegisterAt(Server* server) {
  RegisterRequest request;
  *request.mutable_worker() = worker_;
  request.set_name(options_.name);
  request.set_config(options_.config_text);
  request.set_server_index(server->index);
  request.set_total_iterations(options_.total_iterations);
  request.set_num_averaged_buckets(options_.num_averaged_buckets);
  for (const int64_t size : shard_map_->bucket_sizes()) {
    request.add_bucket_sizes(size);
  }
  const absl::Time start = absl::Now();
  const absl::Time give_up = start + options_.startup_timeout;
  absl::Time say_next = start + options_.patience;
  absl::Status last = absl::OkStatus();
  while (absl::Now() < give_up) {
    grpc::ClientContext context;
    // Not longer than is left, and short enough to say now and then whom this
    // worker waits for. gRPC waits for the connection meanwhile.
    context.set_wait_for_ready(true);
    SetDeadline(&context, std::min(kShortCallDeadline, give_up - absl::Now()));
    RegisterResponse response;
    last = FromGrpcStatus(server->stub->Register(&context, request, &response));
    if (last.ok()) return last;
    if (!absl::IsUnavailable(last) && !absl::IsDeadlineExceeded(last)) {
      return Annotate(last, server->Name());
    }
    if (absl::Now() >= say_next) {
      LOG(INFO) << "waiting for " << server->Name() << " since "
                << absl::FormatDuration(
                       absl::Trunc(absl::Now() - start, absl::Seconds(1)));
      say_next += options_.patience;
    }
  }
  return absl::DeadlineExceededError(absl::StrCat(
      server->Name(), " cannot be reached after ",
      absl::FormatDuration(options_.startup_timeout), " (", last.message(),
      "); is it running there, and is cluster.servers[", server->index,
      "] its address?"));
}

SliceMessage GrpcParameterClient::Header(const Slice& slice) const {
  SliceMessage header;
  *header.mutable_worker() = worker_;
  header.set_bucket(slice.bucket);
  header.set_slice(slice.index);
  return header;
}

void GrpcParameterClient::StartSliceCall(const char* method, const Slice& slice,
                                         const SliceMessage& header,
                                         const PayloadBuffer& payload) {
  auto call = std::make_unique<Call>();
  call->server = servers_[slice.server].get();
  call->method = method;
  call->slice = &slice;
  call->request = EncodeSliceMessage(header, payload);
  Start(std::move(call));
}

void GrpcParameterClient::Start(std::unique_ptr<Call> owned) {
  Call* const call = owned.get();
  call->context = std::make_unique<grpc::ClientContext>();
  call->context->set_wait_for_ready(true);
  SetDeadline(call->context.get(), kCallDeadline);
  call->response.Clear();
  {
    MutexLock lock(&mu_);
    running_[call] = std::move(owned);
  }
  call->server->generic_stub->UnaryCall(
      call->context.get(), call->method, grpc::StubOptions(), &call->request,
      &call->response, [this, call](grpc::Status status) {
        MutexLock lock(&mu_);
        call->status = FromGrpcStatus(status);
        const auto it = running_.find(call);
        completed_.push_back(std::move(it->second));
        running_.erase(it);
        changed_.SignalAll();
      });
}

absl::Status GrpcParameterClient::ServerFailure() const {
  for (const auto& server : servers_) {
    const absl::Status failure = server->attendance->failure();
    if (!failure.ok()) return Annotate(failure, server->Name());
  }
  for (const auto& server : servers_) {
    const absl::Duration broken =
        absl::Now() - server->attendance->broken_since();
    if (broken > options_.lost_server_timeout) {
      return absl::UnavailableError(absl::StrCat(
          server->Name(), " has not answered for ",
          absl::FormatDuration(absl::Trunc(broken, absl::Seconds(1))),
          "; it has stopped, or the network to it is down. Look at its log, "
          "then start the job again"));
    }
  }
  return absl::OkStatus();
}

void GrpcParameterClient::LogWhomWeWaitFor() {
  std::vector<std::string> lines;
  for (const auto& server : servers_) {
    grpc::ClientContext context;
    SetDeadline(&context, kShortCallDeadline);
    GetStatusResponse status;
    const absl::Status result = FromGrpcStatus(
        server->stub->GetStatus(&context, GetStatusRequest(), &status));
    if (!result.ok()) {
      lines.push_back(
          absl::StrCat(server->Name(), " (", result.message(), ")"));
    } else if (status.missing_ranks_size() > 0) {
      lines.push_back(absl::StrCat("worker ",
                                   absl::StrJoin(status.missing_ranks(), ", "),
                                   " (not there)"));
    } else if (status.awaited_ranks_size() > 0) {
      lines.push_back(absl::StrCat(
          "worker ", absl::StrJoin(status.awaited_ranks(), ", "),
          " (last version at ", server->Name(), ": ", status.version(), ")"));
    }
  }
  if (!lines.empty()) LOG(INFO) << "waiting for " << absl::StrJoin(lines, "; ");
}

void GrpcParameterClient::RestartDueCalls() {
  for (size_t i = 0; i < waiting_.size();) {
    if (waiting_[i]->retry_at > absl::Now()) {
      ++i;
      continue;
    }
    std::unique_ptr<Call> call = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + i);
    // A server whose answer to Finish was lost may be gone already.
    const bool over =
        call->slice == nullptr && call->server->attendance->job_done();
    if (!over) Start(std::move(call));
  }
}

absl::Status GrpcParameterClient::Drain(
    const std::function<absl::Status(const Call&)>& done,
    const std::function<bool(const absl::Status&)>& again) {
  const absl::Time start = absl::Now();
  absl::Time say_next = start + options_.patience;
  for (;;) {
    RestartDueCalls();
    std::unique_ptr<Call> call;
    {
      MutexLock lock(&mu_);
      if (completed_.empty()) {
        if (running_.empty() && waiting_.empty()) return absl::OkStatus();
        // Wakes up for whatever comes first, and to look at the clock.
        changed_.WaitUntil(
            &mu_, absl::Now() +
                      (waiting_.empty() ? absl::Seconds(1) : kFirstBackoff));
      }
      if (!completed_.empty()) {
        call = std::move(completed_.front());
        completed_.pop_front();
      }
    }
    if (call == nullptr) {
      PS_RETURN_IF_ERROR(ServerFailure());
      if (absl::Now() >= say_next) {
        LogWhomWeWaitFor();
        say_next = absl::Now() + options_.patience;
      }
      continue;
    }
    if (call->status.ok()) {
      say_next = absl::Now() + options_.patience;
      PS_RETURN_IF_ERROR(Annotate(done(*call), call->server->Name()));
      continue;
    }
    // A broken connection, a server that is being ended, or an answer that
    // takes longer than the deadline: safe to ask again, as every call here may
    // be repeated.
    const bool starting = again != nullptr && again(call->status);
    if (starting && absl::Now() - start > options_.startup_timeout) {
      return Annotate(call->status, call->server->Name());
    }
    if (starting || absl::IsUnavailable(call->status) ||
        absl::IsCancelled(call->status) ||
        absl::IsDeadlineExceeded(call->status)) {
      call->retry_at = absl::Now() + call->backoff;
      call->backoff = std::min(2 * call->backoff, kMaxBackoff);
      waiting_.push_back(std::move(call));
      continue;
    }
    // The reason why the server refuses may be a failure that it has announced.
    PS_RETURN_IF_ERROR(ServerFailure());
    return Annotate(call->status, call->server->Name());
  }
}

absl::Status GrpcParameterClient::HandleAnswer(const Call& call,
                                               const AnswerHandler& handler) {
  PS_ASSIGN_OR_RETURN(const ReceivedSliceMessage message,
                      DecodeSliceMessage(call.response));
  const absl::StatusOr<PayloadInfo> info =
      ValidatePayload(message.payload.pieces, call.slice->size());
  if (!info.ok()) {
    return absl::DataLossError(
        absl::StrCat("weights of version ", message.header.iteration(),
                     " cannot be used: ", info.status().message(),
                     "; if a value is not finite, training has diverged: lower "
                     "optimizer.learning_rate"));
  }
  if (info->index_code != IndexCode::kDense) {
    return absl::DataLossError("weights came without some of their elements");
  }
  SliceAnswer answer;
  answer.slice = call.slice;
  answer.version = message.header.iteration();
  answer.mean_loss = message.header.loss();
  answer.sent_elements = message.header.sent_elements();
  answer.bytes_up = message.header.bytes_up();
  answer.bytes_down = message.message_bytes;
  answer.payload = message.payload.pieces;
  return handler(answer);
}

absl::Status GrpcParameterClient::InitializeWeights(
    const std::vector<const float*>& bucket_weights) {
  for (int b = 0; b < shard_map_->num_buckets(); ++b) {
    for (const Slice& slice : shard_map_->slices(b)) {
      StartSliceCall(kInitializeSlice, slice, Header(slice),
                     EncodeDense({bucket_weights[b] + slice.begin,
                                  static_cast<size_t>(slice.size())}));
    }
  }
  return Drain([](const Call&) { return absl::OkStatus(); });
}

absl::Status GrpcParameterClient::PullWeights(const AnswerHandler& handler) {
  for (int b = 0; b < shard_map_->num_buckets(); ++b) {
    for (const Slice& slice : shard_map_->slices(b)) {
      StartSliceCall(kPull, slice, Header(slice), PayloadBuffer());
    }
  }
  return Drain([&](const Call& call) { return HandleAnswer(call, handler); },
               [](const absl::Status& status) {
                 return absl::IsFailedPrecondition(status);
               });
}

absl::Status GrpcParameterClient::Push(
    int64_t iteration, int bucket, double loss,
    const std::vector<PayloadBuffer>& parts) {
  const std::vector<Slice>& slices = shard_map_->slices(bucket);
  if (parts.size() != slices.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("bucket ", bucket, " has ", slices.size(), " slices and ",
                     parts.size(), " payloads"));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    SliceMessage header = Header(slices[i]);
    header.set_iteration(iteration);
    header.set_loss(loss);
    StartSliceCall(kPush, slices[i], header, parts[i]);
  }
  return absl::OkStatus();
}

absl::Status GrpcParameterClient::AwaitAnswers(const AnswerHandler& handler) {
  return Drain([&](const Call& call) { return HandleAnswer(call, handler); });
}

absl::Status GrpcParameterClient::GiveUp(const FinishRequest& request) {
  absl::Status first_error;
  for (const auto& server : servers_) {
    grpc::ClientContext context;
    SetDeadline(&context, kShortCallDeadline);
    FinishResponse response;
    first_error.Update(Annotate(
        FromGrpcStatus(server->stub->Finish(&context, request, &response)),
        server->Name()));
  }
  return first_error;
}

absl::Status GrpcParameterClient::Finish(const absl::Status& failure) {
  FinishRequest request;
  *request.mutable_worker() = worker_;
  if (!failure.ok()) {
    request.set_failure(std::string(failure.message()));
    return GiveUp(request);
  }
  const grpc::Slice bytes(request.SerializeAsString());
  for (const auto& server : servers_) {
    auto call = std::make_unique<Call>();
    call->server = server.get();
    call->method = kFinish;
    call->request = grpc::ByteBuffer(&bytes, 1);
    Start(std::move(call));
  }
  return Drain([](const Call&) { return absl::OkStatus(); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<ParameterClient>> ParameterClient::Connect(
    const ParameterClientOptions& options, const ShardMap* shard_map) {
  auto client = std::make_unique<GrpcParameterClient>(options, shard_map);
  PS_RETURN_IF_ERROR(client->Connect());
  return std::unique_ptr<ParameterClient>(std::move(client));
}

}  // namespace ps
