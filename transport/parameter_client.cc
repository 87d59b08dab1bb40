#include "transport/parameter_client.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "compressors/payload/shared_positions.h"
#include "proto/parameter_server.pb.h"
#include "transport/grpc_server_channel.h"
#include "transport/keep_common.h"
#include "transport/proto_bytes.h"
#include "transport/server_channel.h"
#include "transport/server_session.h"
#include "transport/server_sessions.h"
#include "transport/slice_message.h"
#include "transport/stage_client.h"

namespace ps {
namespace {

class SessionsClient final : public ParameterClient {
 public:
  SessionsClient(const ParameterClientOptions& options,
                 const ShardMap* shard_map);

  absl::Status Connect();

  absl::StatusOr<int> WorkersOnTheseCores(bool await_all) override;
  absl::StatusOr<CommonSnapshots> FindSnapshots(
      const std::vector<int64_t>& mine,
      const std::vector<int64_t>& damaged) override;
  absl::Status Restore(int64_t number, bool alone) override;
  std::optional<int64_t> JoinsAt() const override { return joins_at_; }
  absl::Status Join(int64_t pushes, int64_t averagings) override;
  absl::Status InitializeWeights(
      const std::vector<const float*>& bucket_weights) override;
  absl::Status PullWeights(int64_t pushes, int64_t averagings,
                           const AnswerHandler& handler) override;
  void AskForPositions(int64_t iteration, int bucket,
                       PositionsHandler handler) override;
  absl::Status Push(const BucketPush& push,
                    const std::vector<PayloadBuffer>& parts) override;
  absl::Status PollAnswers(const AnswerHandler& handler) override;
  absl::Status AwaitAnswers(const AnswerHandler& handler) override;
  absl::StatusOr<std::set<int64_t>> SaveSnapshot(
      int64_t number, std::set<int64_t> written) override;
  StageExchange* stage_exchange() override { return &stage_client_; }
  absl::Status Stop() override;
  absl::Status StartAgain(const std::string& why) override;
  absl::Status Finish(const absl::Status& failure, bool stopped) override;

 private:
  // Makes the same call to all servers and waits for their answers.
  absl::Status CallAll(Rpc rpc, grpc::ByteBuffer request,
                       const ServerSessions::Done& done = nullptr);
  StageClientOptions StageOptions();
  RegisterRequest Registration() const;
  SliceMessage Header(const Slice& slice) const;
  void StartSliceCall(Rpc rpc, const Slice& slice, const SliceMessage& header,
                      const PayloadBuffer& payload);
  absl::Status HandleAnswer(const Call& call, const AnswerHandler& handler);

  const ParameterClientOptions options_;
  const ShardMap* const shard_map_;  // Not owned.
  const WorkerId worker_;
  // The versions of the worker's weights, by bucket and slice.
  std::vector<std::vector<int64_t>> versions_;
  // The handlers by bucket.
  std::map<int, PositionsHandler> positions_handlers_;
  std::optional<int64_t> joins_at_;
  // The snapshots that all processes had written by their last report.
  std::set<int64_t> written_by_all_;
  StageClient stage_client_;
  // This is last, so that its threads, which use the members above, end first.
  ServerSessions sessions_;
};

WorkerId WorkerOf(const ParameterClientOptions& options) {
  WorkerId worker;
  worker.set_rank(options.worker_rank);
  worker.set_incarnation(options.incarnation);
  return worker;
}

SessionsClient::SessionsClient(const ParameterClientOptions& options,
                               const ShardMap* shard_map)
    : options_(options),
      shard_map_(shard_map),
      worker_(WorkerOf(options)),
      stage_client_(StageOptions()),
      sessions_(options.clock, options.patience, options.interruption) {
  for (int b = 0; b < shard_map->num_buckets(); ++b) {
    versions_.emplace_back(shard_map->slices(b).size(), 0);
  }
}

RegisterRequest SessionsClient::Registration() const {
  RegisterRequest request;
  *request.mutable_worker() = worker_;
  request.set_name(options_.name);
  request.set_cores(options_.cores);
  request.set_protocol(kProtocol);
  request.set_config(options_.config_text);
  request.set_data(options_.data_text);
  request.set_total_iterations(options_.total_iterations);
  request.set_keeps_snapshots(options_.keeps_snapshots);
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
  for (const double rate : options_.tensor_rates) {
    request.add_tensor_rates(rate);
  }
  return request;
}

StageClientOptions SessionsClient::StageOptions() {
  StageClientOptions stages;
  stages.worker = worker_;
  stages.limits = StageLimitsFor(
      options_.num_workers, static_cast<int>(options_.servers.size()),
      options_.credit_bytes, options_.max_slice_elements);
  stages.patience = options_.patience;
  stages.clock = options_.clock;
  stages.sessions = &sessions_;
  return stages;
}

absl::Status SessionsClient::Connect() {
  sessions_.Watch([this] { stage_client_.SessionsChanged(); });
  ServerSessionOptions session;
  session.registration = Registration();
  session.data_connections = options_.connections;
  session.credit_bytes = options_.credit_bytes;
  session.startup_timeout = options_.startup_timeout;
  session.lost_server_timeout = options_.lost_server_timeout;
  for (int i = 0; i < static_cast<int>(options_.servers.size()); ++i) {
    session.address = options_.servers[i];
    session.registration.set_server_index(i);
    ServerChannelOptions channel;
    channel.address = session.address;
    channel.credentials = options_.credentials != nullptr
                              ? options_.credentials->ForServer(i)
                              : grpc::InsecureChannelCredentials();
    channel.max_message_bytes = MaxMessageBytes(options_.max_slice_elements);
    sessions_.Add(session, options_.new_channel != nullptr
                               ? options_.new_channel(channel)
                               : NewGrpcServerChannel(channel));
  }
  FinishRequest finish;
  *finish.mutable_worker() = worker_;
  const absl::Status registered = sessions_.Register(finish);
  // Servers that have ended know that the job is done; others, which were
  // killed, may not, and may wait for all workers. But a server that lives has
  // not ended, and the job may begin again.
  if (options_.was_done && absl::IsDeadlineExceeded(registered) &&
      sessions_.reached_any()) {
    if (!sessions_.waits_for_any()) {
      sessions_.TellAll(finish, /*only_registered=*/true).IgnoreError();
    }
    return absl::UnavailableError(
        absl::StrCat("the job is done here, and not at all servers (",
                     registered.message(), ")"));
  }
  const bool interrupted =
      options_.interruption != nullptr && !options_.interruption->why().ok();
  // kCancelled: the job is done. With snapshots this worker is started again.
  if (!options_.keeps_snapshots && !registered.ok() &&
      (interrupted || !absl::IsCancelled(registered))) {
    // Servers that have admitted it would take it for lost, and not know why.
    finish.set_failure(std::string(registered.message()));
    sessions_.TellAll(finish, /*only_registered=*/true).IgnoreError();
  }
  PS_RETURN_IF_ERROR(registered);
  const std::vector<int64_t> joins_at = sessions_.joins_at();
  // Without snapshots, a server that has not begun gets its weights from worker
  // 0, which is present.
  if (options_.keeps_snapshots && !joins_at.empty() &&
      static_cast<int>(joins_at.size()) < sessions_.size()) {
    return StartAgain(absl::StrCat("the job is under way at ", joins_at.size(),
                                   " of ", sessions_.size(), " servers"));
  }
  for (const int64_t pushes : joins_at) {
    joins_at_ = std::max(pushes, joins_at_.value_or(0));
  }
  return absl::OkStatus();
}

SliceMessage SessionsClient::Header(const Slice& slice) const {
  SliceMessage header;
  *header.mutable_worker() = worker_;
  header.set_bucket(slice.bucket);
  header.set_slice(slice.index);
  return header;
}

void SessionsClient::StartSliceCall(Rpc rpc, const Slice& slice,
                                    const SliceMessage& header,
                                    const PayloadBuffer& payload) {
  auto call = std::make_unique<Call>();
  call->rpc = rpc;
  call->slice = &slice;
  call->request = EncodeSliceMessage(header, payload);
  call->urgency = slice.bucket;
  // A server cannot answer a pull before worker 0 has sent the initial weights.
  if (rpc == Rpc::kPull) call->patience = options_.startup_timeout;
  sessions_.Send(slice.server, std::move(call));
}

absl::StatusOr<PositionsAnswer> ReadPositionsAnswer(
    const Slice& slice, const ReceivedSliceMessage& message) {
  PositionsAnswer answer;
  answer.slice = &slice;
  answer.bytes_down = message.message_bytes;
  const PayloadPieces& pieces = message.payload.pieces;
  answer.leads = pieces.empty();
  if (answer.leads) return answer;
  absl::StatusOr<std::vector<uint32_t>> positions =
      ReadPositions(pieces, slice.size());
  absl::StatusOr<PositionRemarks> remarks = ReadRemarks(pieces);
  absl::Status read = positions.status();
  read.Update(remarks.status());
  if (!read.ok()) {
    return absl::DataLossError(
        absl::StrCat("positions of iteration ", message.header.iteration(),
                     " cannot be used: ", read.message()));
  }
  answer.positions = *std::move(positions);
  answer.remarks = *std::move(remarks);
  return answer;
}

absl::Status SessionsClient::HandleAnswer(const Call& call,
                                          const AnswerHandler& handler) {
  PS_ASSIGN_OR_RETURN(const ReceivedSliceMessage message,
                      DecodeSliceMessage(call.response));
  if (call.rpc == Rpc::kGetPositions) {
    PS_ASSIGN_OR_RETURN(const PositionsAnswer positions,
                        ReadPositionsAnswer(*call.slice, message));
    return positions_handlers_[call.slice->bucket](positions);
  }
  SliceAnswer answer;
  if (!message.payload.pieces.empty()) {
    absl::StatusOr<PayloadInfo> info =
        ValidatePayload(message.payload.pieces, call.slice->size());
    if (!info.ok()) {
      return absl::DataLossError(absl::StrCat(
          "weights of version ", message.header.iteration(),
          " cannot be used: ", info.status().message(),
          "; if a value is not finite, training has diverged: lower the "
          "learning rate"));
    }
    answer.info = *info;
  }
  // A worker that pulls has no weights yet to which a part could be added.
  if (call.rpc == Rpc::kPull && (message.payload.pieces.empty() ||
                                 answer.info.index_code != IndexCode::kDense)) {
    return absl::DataLossError("the pulled weights lack some elements");
  }
  answer.slice = call.slice;
  answer.version = message.header.iteration();
  answer.mean_loss = message.header.loss();
  answer.sent_elements = message.header.sent_elements();
  answer.bytes_up = message.header.bytes_up();
  answer.bytes_down = message.message_bytes;
  answer.dropped = message.header.outcome().dropped();
  answer.staleness = message.header.outcome().staleness();
  if (message.header.has_compress_next()) {
    answer.compress_next = message.header.compress_next();
  }
  answer.sent = call.start;
  answer.arrived = call.end;
  answer.latency = call.end - call.start;
  answer.retries = call.attempts - 1;
  const ServerPhases& phases = message.header.phases();
  answer.timings = {phases.held(), phases.wait(), phases.sum(),
                    phases.optimizer(), phases.encode()};
  answer.difference = message.header.difference();
  answer.covers_pushes = message.header.outcome().covers_pushes();
  answer.stop = message.header.outcome().stop();
  answer.payload = message.payload.pieces;
  PS_RETURN_IF_ERROR(handler(answer));
  if (!answer.payload.empty()) {
    versions_[call.slice->bucket][call.slice->index] = answer.version;
  }
  return absl::OkStatus();
}

absl::Status SessionsClient::CallAll(Rpc rpc, grpc::ByteBuffer request,
                                     const ServerSessions::Done& done) {
  for (int server = 0; server < sessions_.size(); ++server) {
    auto call = std::make_unique<Call>();
    call->rpc = rpc;
    call->request = request;
    sessions_.Send(server, std::move(call));
  }
  return sessions_.Await(done);
}

absl::StatusOr<int> SessionsClient::WorkersOnTheseCores(bool await_all) {
  // All servers have the same answer.
  GetStatusRequest request;
  request.set_when_none_is_missing(await_all);
  auto call = std::make_unique<Call>();
  call->rpc = Rpc::kGetStatus;
  call->request = ToBytes(request);
  sessions_.Send(0, std::move(call));
  std::vector<int> first;
  PS_RETURN_IF_ERROR(sessions_.Await([&](const Call& ended) -> absl::Status {
    PS_ASSIGN_OR_RETURN(const auto response,
                        FromBytes<GetStatusResponse>(ended.response));
    first.assign(response.first_sharers().begin(),
                 response.first_sharers().end());
    return absl::OkStatus();
  }));
  const auto rank = static_cast<size_t>(options_.worker_rank);
  if (rank >= first.size() || first[rank] < 0) {
    return absl::DataLossError(absl::StrCat(
        "server 0 does not know on which processors worker ", rank, " runs"));
  }
  return static_cast<int>(std::count(first.begin(), first.end(), first[rank]));
}

absl::StatusOr<CommonSnapshots> SessionsClient::FindSnapshots(
    const std::vector<int64_t>& mine, const std::vector<int64_t>& damaged) {
  FindSnapshotsRequest request;
  *request.mutable_worker() = worker_;
  for (const int64_t number : damaged) request.add_damaged(number);
  for (const int64_t number : mine) request.add_snapshots(number);
  std::optional<std::set<int64_t>> common;
  std::set<std::string> holdings;
  int alone = 0;
  PS_RETURN_IF_ERROR(CallAll(
      Rpc::kFindSnapshots, ToBytes(request),
      [&](const Call& call) -> absl::Status {
        PS_ASSIGN_OR_RETURN(const auto response,
                            FromBytes<FindSnapshotsResponse>(call.response));
        if (common.has_value()) {
          KeepCommon(response.snapshots(), &*common);
        } else {
          common.emplace(response.snapshots().begin(),
                         response.snapshots().end());
        }
        holdings.insert(response.holdings().begin(), response.holdings().end());
        alone += response.alone();
        return absl::OkStatus();
      }));
  if (alone > 0 && alone < sessions_.size()) {
    return StartAgain(absl::StrCat("the job is under way at ", alone, " of ",
                                   sessions_.size(), " servers"));
  }
  return CommonSnapshots{{common->begin(), common->end()},
                         {holdings.begin(), holdings.end()},
                         alone > 0};
}

absl::Status SessionsClient::Join(int64_t pushes, int64_t averagings) {
  RestoreRequest request;
  *request.mutable_worker() = worker_;
  request.set_number(pushes);
  request.set_joins(true);
  request.set_averagings(averagings);
  // A server that is killed after its answer is told again.
  sessions_.SetJoinedAfter(pushes);
  return CallAll(Rpc::kRestore, ToBytes(request));
}

absl::Status SessionsClient::Restore(int64_t number, bool alone) {
  RestoreRequest request;
  *request.mutable_worker() = worker_;
  request.set_number(number);
  request.set_alone(alone);
  return CallAll(Rpc::kRestore, ToBytes(request));
}

absl::StatusOr<std::set<int64_t>> SessionsClient::SaveSnapshot(
    int64_t number, std::set<int64_t> written) {
  SaveSnapshotRequest request;
  *request.mutable_worker() = worker_;
  request.set_number(number);
  request.mutable_written()->Add(written.begin(), written.end());
  request.mutable_written_by_all()->Add(written_by_all_.begin(),
                                        written_by_all_.end());
  PS_RETURN_IF_ERROR(CallAll(
      Rpc::kSaveSnapshot, ToBytes(request),
      [&](const Call& call) -> absl::Status {
        PS_ASSIGN_OR_RETURN(const auto response,
                            FromBytes<SaveSnapshotResponse>(call.response));
        KeepCommon(response.written(), &written);
        return absl::OkStatus();
      }));
  written_by_all_ = std::move(written);
  return written_by_all_;
}

absl::Status SessionsClient::Stop() {
  StopRequest request;
  *request.mutable_worker() = worker_;
  return CallAll(Rpc::kStop, ToBytes(request));
}

absl::Status SessionsClient::InitializeWeights(
    const std::vector<const float*>& bucket_weights) {
  for (int b = 0; b < shard_map_->num_buckets(); ++b) {
    for (const Slice& slice : shard_map_->slices(b)) {
      PayloadBuffer first;
      if (bucket_weights[b] != nullptr) {
        first = EncodeDense({bucket_weights[b] + slice.begin,
                             static_cast<size_t>(slice.size())});
      } else {
        PS_ASSIGN_OR_RETURN(
            first, EncodeSparse("auto", {}, {}, /*begin=*/0, slice.size()));
      }
      StartSliceCall(Rpc::kInitializeSlice, slice, Header(slice), first);
    }
  }
  return sessions_.Await();
}

absl::Status SessionsClient::PullWeights(int64_t pushes, int64_t averagings,
                                         const AnswerHandler& handler) {
  const int num_buckets = shard_map_->num_buckets();
  for (int b = 0; b < num_buckets; ++b) {
    const bool averaged = b >= num_buckets - options_.num_averaged_buckets;
    for (const Slice& slice : shard_map_->slices(b)) {
      SliceMessage header = Header(slice);
      header.set_iteration(averaged ? averagings : pushes);
      StartSliceCall(Rpc::kPull, slice, header, PayloadBuffer());
    }
  }
  return sessions_.Await(
      [&](const Call& call) { return HandleAnswer(call, handler); });
}

void SessionsClient::AskForPositions(int64_t iteration, int bucket,
                                     PositionsHandler handler) {
  positions_handlers_[bucket] = std::move(handler);
  for (const Slice& slice : shard_map_->slices(bucket)) {
    SliceMessage header = Header(slice);
    header.set_iteration(iteration);
    StartSliceCall(Rpc::kGetPositions, slice, header, PayloadBuffer());
  }
}

absl::Status SessionsClient::Push(const BucketPush& push,
                                  const std::vector<PayloadBuffer>& parts) {
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
    header.set_samples(push.samples);
    header.set_without_weights(!push.wants_weights);
    header.set_base_version(versions_[push.bucket][i]);
    if (push.compress_next.has_value()) {
      header.set_compress_next(*push.compress_next);
    }
    if (!push.weights_digests.empty()) {
      header.set_weights_digest(push.weights_digests[i]);
    }
    StartSliceCall(Rpc::kPush, slices[i], header, parts[i]);
  }
  return absl::OkStatus();
}

absl::Status SessionsClient::PollAnswers(const AnswerHandler& handler) {
  return sessions_.Poll(
      [&](const Call& call) { return HandleAnswer(call, handler); });
}

absl::Status SessionsClient::AwaitAnswers(const AnswerHandler& handler) {
  return sessions_.Await(
      [&](const Call& call) { return HandleAnswer(call, handler); });
}

absl::Status SessionsClient::StartAgain(const std::string& why) {
  const absl::Status failure = absl::UnavailableError(
      absl::StrCat(why,
                   "; the job goes on from its latest snapshot when all "
                   "processes have been started again"));
  FinishRequest request;
  *request.mutable_worker() = worker_;
  request.set_failure(std::string(failure.message()));
  request.set_can_go_on(true);
  sessions_.TellAll(request).IgnoreError();
  return failure;
}

absl::Status SessionsClient::Finish(const absl::Status& failure, bool stopped) {
  FinishRequest request;
  *request.mutable_worker() = worker_;
  request.set_failure(std::string(failure.message()));
  request.set_stopped(stopped);
  // A server that is gone need not be told of a failure, and the answers to
  // other calls do not matter.
  if (!failure.ok()) return sessions_.TellAll(request);
  const absl::Status ended = CallAll(Rpc::kFinish, ToBytes(request));
  // The first server that ends does not wait for the others, which may not have
  // heard from this worker yet, and would count it as lost.
  if (stopped && !ended.ok()) sessions_.TellAll(request).IgnoreError();
  return ended;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ParameterClient>> ParameterClient::Connect(
    const ParameterClientOptions& options, const ShardMap* shard_map) {
  auto client = std::make_unique<SessionsClient>(options, shard_map);
  PS_RETURN_IF_ERROR(client->Connect());
  return std::unique_ptr<ParameterClient>(std::move(client));
}

}  // namespace ps
