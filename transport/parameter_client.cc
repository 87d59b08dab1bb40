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
#include "transport/grpc_status.h"
#include "transport/server_link.h"
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

// One RPC under way, and what is needed to make it again.
struct Call {
  ServerLink* server = nullptr;
  const char* method = nullptr;
  const Slice* slice = nullptr;  // Null for Finish.
  int64_t push = -1;             // A push's number, in the order of all.
  grpc::ByteBuffer request;

  std::unique_ptr<grpc::ClientContext> context;
  grpc::ByteBuffer response;
  absl::Status status;
  absl::Time first_start = absl::InfinitePast();
  absl::Time end;
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
    for (int b = 0; b < shard_map->num_buckets(); ++b) {
      versions_.emplace_back(shard_map->slices(b).size(), 0);
    }
  }

  ~GrpcParameterClient() override;

  absl::Status Connect();

  absl::Status InitializeWeights(
      const std::vector<const float*>& bucket_weights) override;
  absl::Status PullWeights(const AnswerHandler& handler) override {
    return PullLastWeights(0, 0, handler);
  }
  absl::Status PullLastWeights(int64_t pushes, int64_t averagings,
                               const AnswerHandler& handler) override;
  absl::Status Push(const BucketPush& push,
                    const std::vector<PayloadBuffer>& parts) override;
  absl::Status PollAnswers(const AnswerHandler& handler) override;
  absl::Status AwaitAnswers(const AnswerHandler& handler) override;
  absl::Status Finish(const absl::Status& failure) override;

 private:
  SliceMessage Header(const Slice& slice) const;
  void StartSliceCall(const char* method, const Slice& slice,
                      const SliceMessage& header, const PayloadBuffer& payload);
  void Start(std::unique_ptr<Call> call);
  // Starts the pushes that the servers' windows let through.
  void StartQueued();
  std::unique_ptr<Call> TakeCompleted();
  // One that has ended: `done` gets it, or it is made again later.
  absl::Status Complete(std::unique_ptr<Call> call,
                        const std::function<absl::Status(const Call&)>& done,
                        bool again);
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
  std::vector<std::unique_ptr<ServerLink>> servers_;
  int64_t num_pushes_ = 0;
  // Of the weights that the worker has, by bucket and slice.
  std::vector<std::vector<int64_t>> versions_;
  std::map<int64_t, std::unique_ptr<Call>> queued_;  // By number.
  std::vector<std::unique_ptr<Call>> waiting_;       // For their retry_at.

  Mutex mu_;
  CondVar changed_;
  std::map<Call*, std::unique_ptr<Call>> running_ ABSL_GUARDED_BY(mu_);
  std::deque<std::unique_ptr<Call>> completed_ ABSL_GUARDED_BY(mu_);
};

GrpcParameterClient::~GrpcParameterClient() {
  // Connect may have stopped before some of them had one.
  for (const auto& server : servers_) server->EndAttendance();
  MutexLock lock(&mu_);
  for (const auto& entry : running_) entry.first->context->TryCancel();
  while (!running_.empty()) changed_.Wait(&mu_);
}

absl::Status GrpcParameterClient::Connect() {
  RegisterRequest request;
  *request.mutable_worker() = worker_;
  request.set_name(options_.name);
  request.set_config(options_.config_text);
  request.set_total_iterations(options_.total_iterations);
  request.set_num_averaged_buckets(options_.num_averaged_buckets);
  for (const int64_t size : shard_map_->bucket_sizes()) {
    request.add_bucket_sizes(size);
  }
  for (const int64_t size : options_.tensor_sizes) {
    request.add_tensor_sizes(size);
  }
  for (const bool is_matrix : options_.tensor_is_matrix) {
    request.add_tensor_is_matrix(is_matrix);
  }
  for (const std::string& server : options_.servers) {
    request.add_servers(server);
  }
  for (size_t i = 0; i < options_.servers.size(); ++i) {
    ServerLinkOptions link;
    link.index = static_cast<int>(i);
    link.address = options_.servers[i];
    link.connections = options_.connections;
    link.max_message_bytes = MaxMessageBytes(options_.max_slice_elements);
    link.credit_bytes = options_.credit_bytes;
    link.unix_sockets = options_.unix_sockets;
    link.startup_timeout = options_.startup_timeout;
    link.patience = options_.patience;
    servers_.push_back(std::make_unique<ServerLink>(link));
  }
  for (const auto& server : servers_) {
    PS_RETURN_IF_ERROR(server->Register(request));
    // At once: the server counts a worker that does not attend as lost.
    server->Attend(worker_, [this] {
      MutexLock lock(&mu_);
      changed_.SignalAll();
    });
  }
  return absl::OkStatus();
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
  if (method != kPush) {
    Start(std::move(call));
    return;
  }
  call->push = num_pushes_++;
  call->server->window()->Add(call->push,
                              static_cast<int64_t>(call->request.Length()),
                              /*urgency=*/slice.bucket);
  queued_[call->push] = std::move(call);
}

void GrpcParameterClient::StartQueued() {
  for (const auto& server : servers_) {
    while (const auto number = server->window()->Next()) {
      const auto it = queued_.find(*number);
      Start(std::move(it->second));
      queued_.erase(it);
    }
  }
}

void GrpcParameterClient::Start(std::unique_ptr<Call> owned) {
  Call* const call = owned.get();
  call->context = std::make_unique<grpc::ClientContext>();
  call->context->set_wait_for_ready(true);
  SetDeadline(call->context.get(), kCallDeadline);
  call->response.Clear();
  if (call->first_start == absl::InfinitePast()) {
    call->first_start = absl::Now();
  }
  {
    MutexLock lock(&mu_);
    running_[call] = std::move(owned);
  }
  const int64_t connection = call->slice == nullptr ? 0 : call->slice->index;
  call->server->data_stub(connection)
      ->UnaryCall(call->context.get(), call->method, grpc::StubOptions(),
                  &call->request, &call->response,
                  [this, call](grpc::Status status) {
                    MutexLock lock(&mu_);
                    call->status = FromGrpcStatus(status);
                    call->end = absl::Now();
                    const auto it = running_.find(call);
                    completed_.push_back(std::move(it->second));
                    running_.erase(it);
                    changed_.SignalAll();
                  });
}

absl::Status GrpcParameterClient::ServerFailure() const {
  for (const auto& server : servers_) {
    const absl::Status failure = server->attendance().failure();
    if (!failure.ok()) return Annotate(failure, server->Name());
  }
  for (const auto& server : servers_) {
    const absl::Duration broken =
        absl::Now() - server->attendance().broken_since();
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
        server->stub()->GetStatus(&context, GetStatusRequest(), &status));
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
        call->slice == nullptr && call->server->attendance().job_done();
    if (!over) Start(std::move(call));
  }
}

std::unique_ptr<Call> GrpcParameterClient::TakeCompleted() {
  MutexLock lock(&mu_);
  if (completed_.empty()) return nullptr;
  std::unique_ptr<Call> call = std::move(completed_.front());
  completed_.pop_front();
  return call;
}

absl::Status GrpcParameterClient::Complete(
    std::unique_ptr<Call> call,
    const std::function<absl::Status(const Call&)>& done, bool again) {
  if (call->status.ok()) {
    if (call->push >= 0) call->server->window()->Answered(call->push);
    return Annotate(done(*call), call->server->Name());
  }
  // A broken connection, a server that is being ended, or an answer that takes
  // longer than the deadline: safe to ask again, as every call here may be
  // repeated.
  if (again || absl::IsUnavailable(call->status) ||
      absl::IsCancelled(call->status) ||
      absl::IsDeadlineExceeded(call->status)) {
    call->retry_at = absl::Now() + call->backoff;
    call->backoff = std::min(2 * call->backoff, kMaxBackoff);
    waiting_.push_back(std::move(call));
    return absl::OkStatus();
  }
  // The reason why the server refuses may be a failure that it has announced.
  PS_RETURN_IF_ERROR(ServerFailure());
  return Annotate(call->status, call->server->Name());
}

absl::Status GrpcParameterClient::Drain(
    const std::function<absl::Status(const Call&)>& done,
    const std::function<bool(const absl::Status&)>& again) {
  const absl::Time start = absl::Now();
  absl::Time say_next = start + options_.patience;
  for (;;) {
    RestartDueCalls();
    StartQueued();
    {
      MutexLock lock(&mu_);
      if (completed_.empty()) {
        if (running_.empty() && waiting_.empty()) return absl::OkStatus();
        // Wakes up for whatever comes first, and to look at the clock.
        changed_.WaitUntil(
            &mu_, absl::Now() +
                      (waiting_.empty() ? absl::Seconds(1) : kFirstBackoff));
      }
    }
    std::unique_ptr<Call> call = TakeCompleted();
    if (call == nullptr) {
      PS_RETURN_IF_ERROR(ServerFailure());
      if (absl::Now() >= say_next) {
        LogWhomWeWaitFor();
        say_next = absl::Now() + options_.patience;
      }
      continue;
    }
    if (call->status.ok()) say_next = absl::Now() + options_.patience;
    const bool starting =
        !call->status.ok() && again != nullptr && again(call->status);
    if (starting && absl::Now() - start > options_.startup_timeout) {
      return Annotate(call->status, call->server->Name());
    }
    PS_RETURN_IF_ERROR(Complete(std::move(call), done, starting));
  }
}

absl::Status GrpcParameterClient::HandleAnswer(const Call& call,
                                               const AnswerHandler& handler) {
  PS_ASSIGN_OR_RETURN(const ReceivedSliceMessage message,
                      DecodeSliceMessage(call.response));
  SliceAnswer answer;
  if (!message.payload.pieces.empty()) {
    absl::StatusOr<PayloadInfo> info =
        ValidatePayload(message.payload.pieces, call.slice->size());
    if (!info.ok()) {
      return absl::DataLossError(absl::StrCat(
          "weights of version ", message.header.iteration(),
          " cannot be used: ", info.status().message(),
          "; if a value is not finite, training has diverged: lower "
          "optimizer.learning_rate"));
    }
    answer.info = *info;
  }
  // Who pulls has nothing yet that a part could be added to.
  if (call.method == kPull && (message.payload.pieces.empty() ||
                               answer.info.index_code != IndexCode::kDense)) {
    return absl::DataLossError("weights came without some of their elements");
  }
  answer.slice = call.slice;
  answer.version = message.header.iteration();
  answer.mean_loss = message.header.loss();
  answer.sent_elements = message.header.sent_elements();
  answer.bytes_up = message.header.bytes_up();
  answer.bytes_down = message.message_bytes;
  answer.left_out = message.header.outcome().left_out();
  answer.staleness = message.header.outcome().staleness();
  if (message.header.has_compress_next()) {
    answer.compress_next = message.header.compress_next();
  }
  answer.latency = call.end - call.first_start;
  const ServerPhases& phases = message.header.phases();
  answer.work = {phases.held(), phases.wait(), phases.sum(), phases.optimizer(),
                 phases.encode()};
  answer.difference = message.header.difference();
  answer.payload = message.payload.pieces;
  PS_RETURN_IF_ERROR(handler(answer));
  if (!answer.payload.empty()) {
    versions_[call.slice->bucket][call.slice->index] = answer.version;
  }
  return absl::OkStatus();
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

absl::Status GrpcParameterClient::PullLastWeights(
    int64_t pushes, int64_t averagings, const AnswerHandler& handler) {
  const int num_buckets = shard_map_->num_buckets();
  for (int b = 0; b < num_buckets; ++b) {
    const bool averaged = b >= num_buckets - options_.num_averaged_buckets;
    for (const Slice& slice : shard_map_->slices(b)) {
      SliceMessage header = Header(slice);
      header.set_iteration(averaged ? averagings : pushes);
      StartSliceCall(kPull, slice, header, PayloadBuffer());
    }
  }
  return Drain([&](const Call& call) { return HandleAnswer(call, handler); },
               [](const absl::Status& status) {
                 return absl::IsFailedPrecondition(status);
               });
}

absl::Status GrpcParameterClient::Push(
    const BucketPush& push, const std::vector<PayloadBuffer>& parts) {
  const std::vector<Slice>& slices = shard_map_->slices(push.bucket);
  if (parts.size() != slices.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("bucket ", push.bucket, " has ", slices.size(),
                     " slices and ", parts.size(), " payloads"));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    SliceMessage header = Header(slices[i]);
    header.set_iteration(push.iteration);
    header.set_loss(push.loss);
    header.set_without_weights(!push.wants_weights);
    header.set_base_version(versions_[push.bucket][i]);
    if (push.compress_next.has_value()) {
      header.set_compress_next(*push.compress_next);
    }
    if (!push.weights_digests.empty()) {
      header.set_weights_digest(push.weights_digests[i]);
    }
    StartSliceCall(kPush, slices[i], header, parts[i]);
  }
  StartQueued();
  return absl::OkStatus();
}

absl::Status GrpcParameterClient::PollAnswers(const AnswerHandler& handler) {
  while (std::unique_ptr<Call> call = TakeCompleted()) {
    PS_RETURN_IF_ERROR(Complete(
        std::move(call),
        [&](const Call& done) { return HandleAnswer(done, handler); },
        /*again=*/false));
  }
  RestartDueCalls();
  StartQueued();
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
        FromGrpcStatus(server->stub()->Finish(&context, request, &response)),
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
