#include "transport/parameter_client.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "grpcpp/client_context.h"
#include "proto/parameter_server.grpc.pb.h"
#include "transport/call_pool.h"
#include "transport/grpc_status.h"
#include "transport/server_link.h"
#include "transport/server_watch.h"
#include "transport/slice_message.h"

namespace ps {
namespace {

// For the last call of a worker that gives up.
constexpr absl::Duration kGiveUpDeadline = absl::Seconds(2);

constexpr char kPush[] = "/ps.ParameterServer/Push";
constexpr char kPull[] = "/ps.ParameterServer/Pull";
constexpr char kInitializeSlice[] = "/ps.ParameterServer/InitializeSlice";
constexpr char kFinish[] = "/ps.ParameterServer/Finish";

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
  absl::Status HandleAnswer(const Call& call, const AnswerHandler& handler);
  // Tells every server once: a server that is gone need not be told, and the
  // answers to calls still under way do not matter.
  absl::Status GiveUp(const FinishRequest& request);

  const ParameterClientOptions options_;
  const ShardMap* const shard_map_;  // Not owned.
  WorkerId worker_;
  ServerLinks servers_;
  int64_t num_pushes_ = 0;
  // Versions of the worker's weights, by bucket and slice.
  std::vector<std::vector<int64_t>> versions_;
  std::unique_ptr<CallPool> calls_;
};

GrpcParameterClient::~GrpcParameterClient() {
  // Some servers have no attendance if Connect failed early.
  for (const auto& server : servers_) server->EndAttendance();
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
  CallPoolOptions calls;
  calls.startup_timeout = options_.startup_timeout;
  calls.lost_server_timeout = options_.lost_server_timeout;
  calls.patience = options_.patience;
  calls_ = std::make_unique<CallPool>(&servers_, calls);
  for (const auto& server : servers_) {
    PS_RETURN_IF_ERROR(server->Register(request));
    // Attend immediately: the server counts a worker that does not attend as
    // lost.
    server->Attend(worker_, [this] { calls_->Wake(); });
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
    calls_->Start(std::move(call));
    return;
  }
  call->push = num_pushes_++;
  calls_->Queue(std::move(call), /*urgency=*/slice.bucket);
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
  // A worker that pulls has no weights yet to which a part could be added.
  if (call.method == kPull && (message.payload.pieces.empty() ||
                               answer.info.index_code != IndexCode::kDense)) {
    return absl::DataLossError("the pulled weights lack some elements");
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
  answer.sent = call.first_start;
  answer.arrived = call.end;
  answer.latency = call.end - call.first_start;
  const ServerPhases& phases = message.header.phases();
  answer.work = {phases.held(),
                 phases.wait(),
                 {phases.sum(), phases.optimizer(), phases.encode()}};
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
  return calls_->Drain([](const Call&) { return absl::OkStatus(); });
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
  return calls_->Drain(
      [&](const Call& call) { return HandleAnswer(call, handler); },
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
  calls_->StartQueued();
  return absl::OkStatus();
}

absl::Status GrpcParameterClient::PollAnswers(const AnswerHandler& handler) {
  return calls_->Poll(
      [&](const Call& call) { return HandleAnswer(call, handler); });
}

absl::Status GrpcParameterClient::AwaitAnswers(const AnswerHandler& handler) {
  return calls_->Drain(
      [&](const Call& call) { return HandleAnswer(call, handler); });
}

absl::Status GrpcParameterClient::GiveUp(const FinishRequest& request) {
  absl::Status first_error;
  for (const auto& server : servers_) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kGiveUpDeadline));
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
    calls_->Start(std::move(call));
  }
  return calls_->Drain([](const Call&) { return absl::OkStatus(); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<ParameterClient>> ParameterClient::Connect(
    const ParameterClientOptions& options, const ShardMap* shard_map) {
  auto client = std::make_unique<GrpcParameterClient>(options, shard_map);
  PS_RETURN_IF_ERROR(client->Connect());
  return std::unique_ptr<ParameterClient>(std::move(client));
}

}  // namespace ps
