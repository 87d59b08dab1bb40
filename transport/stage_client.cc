#include "transport/stage_client.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "transport/proto_bytes.h"
#include "transport/server_session.h"

namespace ps {

// A thread of gRPC fills it in, perhaps after the waiting thread is gone.
struct StageClient::Answer {
  std::unique_ptr<Call> call;
};

StageClient::StageClient(const StageClientOptions& options)
    : options_(options) {}

void StageClient::SessionsChanged() {
  MutexLock lock(&mu_);
  ++changes_;
  news_.SignalAll();
}

absl::Status StageClient::Check(int peer, int stream, int64_t number) const {
  const StageLimits& limits = options_.limits;
  if (peer < 0 || peer >= limits.num_workers ||
      peer == options_.worker.rank() || stream < 0 ||
      stream >= kNumStageStreams || number < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "array ", number, " of stream ", stream, " between workers ",
        options_.worker.rank(), " and ", peer, "; the job has ",
        limits.num_workers, " workers with ", kNumStageStreams,
        " streams from each to each other, and numbers must be at least 0"));
  }
  // A server's announcement says more than the end of a call.
  PS_RETURN_IF_ERROR(options_.sessions->Check());
  MutexLock lock(&mu_);
  return failure_;
}

AuxMessage StageClient::Header(int peer, int stream, int64_t number) const {
  AuxMessage header;
  *header.mutable_worker() = options_.worker;
  header.set_peer(peer);
  header.set_stream(stream);
  header.set_number(number);
  return header;
}

absl::Status StageClient::Put(int to, int stream, int64_t number,
                              absl::Span<const float> values) {
  PS_RETURN_IF_ERROR(Check(to, stream, number));
  {
    MutexLock lock(&mu_);
    const auto [last, first] = last_put_.try_emplace({to, stream}, number);
    if (!first && number <= last->second) return absl::OkStatus();
    last->second = number;
  }
  const auto copy =
      std::make_shared<std::vector<float>>(values.begin(), values.end());
  AuxMessage header = Header(to, stream, number);
  const auto size = static_cast<int64_t>(values.size());
  header.set_num_values(size);
  int64_t begin = 0;
  for (int64_t chunk = 0; chunk < NumChunks(size, options_.limits); ++chunk) {
    const int64_t count = ChunkSize(size, chunk, options_.limits);
    header.set_chunk(static_cast<int32_t>(chunk));
    auto call = std::make_unique<Call>();
    call->rpc = Rpc::kAuxPut;
    call->stage_stream = to * kNumStageStreams + stream;
    call->request = EncodeStagePut(
        header, absl::MakeConstSpan(*copy).subspan(begin, count), copy);
    call->kept_bytes =
        static_cast<int64_t>(call->request.Length()) + kKeptChunkBytes;
    call->done = [this](std::unique_ptr<Call> ended) {
      if (ended->status.ok()) return;
      MutexLock lock(&mu_);
      failure_.Update(Annotate(ended->status, ended->session->Name()));
      news_.SignalAll();
    };
    options_.sessions->SendApart(StageServerOf(to, options_.limits),
                                 std::move(call));
    begin += count;
  }
  return absl::OkStatus();
}

absl::Status StageClient::Await(const Answer& answer) {
  const absl::Time over = options_.clock->Now() + options_.patience;
  for (;;) {
    int64_t seen = 0;
    {
      MutexLock lock(&mu_);
      seen = changes_;
    }
    // The lock is not held here: the sessions lock themselves, and call this
    // object with their locks held.
    PS_RETURN_IF_ERROR(options_.sessions->Check());
    MutexLock lock(&mu_);
    while (answer.call == nullptr && failure_.ok() && changes_ == seen) {
      const absl::Duration left = over - options_.clock->Now();
      if (left <= absl::ZeroDuration()) return absl::OkStatus();
      news_.WaitFor(&mu_, left);
    }
    if (answer.call != nullptr) return absl::OkStatus();
    PS_RETURN_IF_ERROR(failure_);
  }
}

absl::StatusOr<ReceivedStageMessage> StageClient::Fetch(
    const AuxMessage& request) {
  const auto answer = std::make_shared<Answer>();
  auto call = std::make_unique<Call>();
  call->rpc = Rpc::kAuxGet;
  call->request = ToBytes(request);
  call->done = [this, answer](std::unique_ptr<Call> ended) {
    MutexLock lock(&mu_);
    answer->call = std::move(ended);
    news_.SignalAll();
  };
  options_.sessions->SendApart(
      StageServerOf(options_.worker.rank(), options_.limits), std::move(call));
  std::unique_ptr<Call> ended;
  for (;;) {
    PS_RETURN_IF_ERROR(Await(*answer));
    MutexLock lock(&mu_);
    ended = std::move(answer->call);
    if (ended != nullptr) break;
    LOG(INFO) << "waiting for array " << request.number() << " of stream "
              << request.stream() << " from worker " << request.peer();
  }
  const std::string server = ended->session->Name();
  if (!ended->status.ok()) {
    PS_RETURN_IF_ERROR(options_.sessions->Check());
    return Annotate(ended->status, server);
  }
  absl::StatusOr<ReceivedStageMessage> message =
      DecodeStageMessage(ended->response);
  if (!message.ok()) return Annotate(message.status(), server);
  const AuxMessage& header = message->header;
  if (header.peer() != request.peer() || header.stream() != request.stream() ||
      header.number() != request.number() ||
      header.chunk() != request.chunk()) {
    const auto name = [](const AuxMessage& array) {
      return absl::StrCat("array ", array.number(), " of stream ",
                          array.stream(), ", part ", array.chunk(),
                          ", for worker ", array.peer());
    };
    return absl::DataLossError(absl::StrCat(
        server, " answers with ", name(header), "; wanted ", name(request)));
  }
  return message;
}

absl::Status StageClient::Get(int from, int stream, int64_t number,
                              absl::Span<float> values) {
  PS_RETURN_IF_ERROR(Check(from, stream, number));
  {
    MutexLock lock(&mu_);
    const auto [last, first] = last_get_.try_emplace({from, stream}, number);
    if (!first && number <= last->second) {
      return absl::InvalidArgumentError(
          absl::StrCat("array ", number, " of stream ", stream, " from worker ",
                       from, " is asked for after array ", last->second));
    }
    last->second = number;
  }
  AuxMessage request = Header(from, stream, number);
  const auto size = static_cast<int64_t>(values.size());
  int64_t begin = 0;
  for (int64_t chunk = 0; chunk < NumChunks(size, options_.limits); ++chunk) {
    const int64_t count = ChunkSize(size, chunk, options_.limits);
    request.set_chunk(static_cast<int32_t>(chunk));
    PS_ASSIGN_OR_RETURN(const ReceivedStageMessage message, Fetch(request));
    PS_RETURN_IF_ERROR(CopyChunk(message, size, values.subspan(begin, count)));
    begin += count;
  }
  return absl::OkStatus();
}

}  // namespace ps
