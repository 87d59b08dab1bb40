// Saves and loads a SliceState.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "server/slices/slice_state.h"

namespace ps {
namespace {

constexpr absl::string_view kKind = "slice";

void PutOptional(const std::optional<double>& value, StateWriter* writer) {
  writer->PutInt(value.has_value());
  writer->PutDouble(value.value_or(0));
}

absl::StatusOr<std::optional<double>> GetOptional(StateReader* reader) {
  PS_ASSIGN_OR_RETURN(const int64_t present, reader->GetInt());
  PS_ASSIGN_OR_RETURN(const double value, reader->GetDouble());
  return present != 0 ? std::optional<double>(value) : std::nullopt;
}

void PutBuffer(const PayloadBuffer& buffer, StateWriter* writer) {
  writer->PutBytes(
      {reinterpret_cast<const char*>(buffer.data()), buffer.size_bytes()});
}

absl::StatusOr<PayloadBuffer> GetBuffer(StateReader* reader) {
  PS_ASSIGN_OR_RETURN(const absl::string_view bytes, reader->GetBytes());
  if (bytes.empty()) return PayloadBuffer();
  PayloadBuffer buffer = PayloadBuffer::Allocate(bytes.size());
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

}  // namespace

std::string SliceState::Save() const {
  StateWriter writer(kKind);
  writer.PutInt(options_.num_elements);
  writer.PutInt(options_.rule == UpdateRule::kMean);
  writer.PutInt(static_cast<int64_t>(workers_.size()));
  writer.PutInt(progress_.version);
  for (const int64_t iteration : progress_.counted) writer.PutInt(iteration);
  writer.PutInt(static_cast<int64_t>(first_digest_));
  writer.PutInt(compress_next_.has_value() ? *compress_next_ : -1);
  for (const Worker& worker : workers_) SaveWorker(worker, &writer);
  writer.PutInt(counts_.sent_elements);
  writer.PutInt(counts_.bytes_up);
  weights_->Save(&writer);
  writer.PutDouble(answer_.mean_loss);
  writer.PutInt(answer_.sent_elements);
  writer.PutInt(answer_.bytes_up);
  writer.PutInt(answer_.weights.difference);
  writer.PutInt(answer_.weights.covers_pushes);
  // Answers often share the memory of the weights, which are saved already.
  const bool whole = answer_.weights.bytes.size_bytes() > 0 &&
                     answer_.weights.bytes.data() == weights_->All().data();
  writer.PutInt(whole);
  PutBuffer(whole ? PayloadBuffer() : answer_.weights.bytes, &writer);
  if (norms_.has_value()) norms_->Save(&writer);
  if (coder_ != nullptr) coder_->Save(&writer);
  return std::move(writer).Finish();
}

void SliceState::SaveWorker(const Worker& worker, StateWriter* writer) {
  PutOptional(worker.loss, writer);
  writer->PutInt(worker.staleness);
  writer->PutInt(worker.answered.sent_elements);
  writer->PutInt(worker.answered.bytes_up);
  PutBuffer(worker.statistics, writer);
}

absl::Status SliceState::LoadWorker(StateReader* reader, Worker* worker) {
  PS_ASSIGN_OR_RETURN(worker->loss, GetOptional(reader));
  PS_ASSIGN_OR_RETURN(worker->staleness, reader->GetInt());
  PS_ASSIGN_OR_RETURN(worker->answered.sent_elements, reader->GetInt());
  PS_ASSIGN_OR_RETURN(worker->answered.bytes_up, reader->GetInt());
  PS_ASSIGN_OR_RETURN(worker->statistics, GetBuffer(reader));
  return absl::OkStatus();
}

absl::StatusOr<std::string> SliceState::ForWorkers(absl::string_view saved,
                                                   int num_workers,
                                                   int64_t updates,
                                                   int64_t means) {
  PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(kKind, saved));
  StateWriter writer(kKind);
  PS_ASSIGN_OR_RETURN(const int64_t num_elements, reader.GetInt());
  writer.PutInt(num_elements);
  PS_ASSIGN_OR_RETURN(const int64_t is_mean, reader.GetInt());
  writer.PutInt(is_mean);
  PS_ASSIGN_OR_RETURN(const int64_t workers_before, reader.GetInt());
  PS_RETURN_IF_ERROR(reader.GetInt().status());  // This skips the version.
  for (int64_t i = 0; i < workers_before; ++i) {
    PS_RETURN_IF_ERROR(reader.GetInt().status());
  }
  const int64_t version = is_mean != 0 ? means : updates;
  writer.PutInt(num_workers);
  writer.PutInt(version);
  for (int i = 0; i < num_workers; ++i) writer.PutInt(version - 1);
  PS_ASSIGN_OR_RETURN(const int64_t first_digest, reader.GetInt());
  writer.PutInt(first_digest);
  PS_ASSIGN_OR_RETURN(const int64_t compress_next, reader.GetInt());
  writer.PutInt(compress_next);
  Worker before;
  for (int64_t i = 0; i < workers_before; ++i) {
    PS_RETURN_IF_ERROR(LoadWorker(&reader, &before));
  }
  for (int i = 0; i < num_workers; ++i) SaveWorker(Worker(), &writer);
  writer.PutRest(reader.Rest());
  return std::move(writer).Finish();
}

absl::StatusOr<int64_t> SliceState::NumElements(absl::string_view saved) {
  PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(kKind, saved));
  PS_ASSIGN_OR_RETURN(const int64_t num_elements, reader.GetInt());
  if (num_elements >= 1) return num_elements;
  return absl::DataLossError(absl::StrCat(num_elements, " elements"));
}

absl::StatusOr<std::unique_ptr<SliceState>> SliceState::Load(
    const SliceOptions& options, absl::string_view saved) {
  PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(kKind, saved));
  std::unique_ptr<SliceState> state(new SliceState(options));
  PS_RETURN_IF_ERROR(state->LoadFields(&reader));
  PS_RETURN_IF_ERROR(reader.Finish());
  return state;
}

absl::Status SliceState::LoadFields(StateReader* reader) {
  PS_ASSIGN_OR_RETURN(const int64_t num_elements, reader->GetInt());
  PS_ASSIGN_OR_RETURN(const int64_t is_mean, reader->GetInt());
  if ((is_mean != 0) != (options_.rule == UpdateRule::kMean)) {
    return absl::DataLossError(absl::StrCat(
        "the saved slice has ", is_mean != 0 ? "statistics" : "parameters",
        ", and this one has not"));
  }
  PS_ASSIGN_OR_RETURN(const int64_t num_workers, reader->GetInt());
  if (num_elements != options_.num_elements ||
      num_workers != static_cast<int64_t>(workers_.size())) {
    return absl::DataLossError(
        absl::StrCat("the saved slice has ", num_elements, " elements and ",
                     num_workers, " workers; this one has ",
                     options_.num_elements, " and ", workers_.size()));
  }
  PS_ASSIGN_OR_RETURN(progress_.version, reader->GetInt());
  for (int64_t& iteration : progress_.counted) {
    PS_ASSIGN_OR_RETURN(iteration, reader->GetInt());
  }
  PS_ASSIGN_OR_RETURN(const int64_t first_digest, reader->GetInt());
  first_digest_ = static_cast<uint64_t>(first_digest);
  PS_ASSIGN_OR_RETURN(const int64_t compress_next, reader->GetInt());
  if (compress_next >= 0) compress_next_ = compress_next != 0;
  for (Worker& worker : workers_) {
    PS_RETURN_IF_ERROR(LoadWorker(reader, &worker));
    if (worker.statistics.size_bytes() > 0) {
      PS_RETURN_IF_ERROR(
          ValidatePayload({worker.statistics.span()}, num_elements).status());
    }
  }
  PS_ASSIGN_OR_RETURN(counts_.sent_elements, reader->GetInt());
  PS_ASSIGN_OR_RETURN(counts_.bytes_up, reader->GetInt());
  FindMeanLoss();
  PS_ASSIGN_OR_RETURN(weights_, SliceWeights::Load(options_, reader));
  PS_ASSIGN_OR_RETURN(answer_.mean_loss, reader->GetDouble());
  PS_ASSIGN_OR_RETURN(answer_.sent_elements, reader->GetInt());
  PS_ASSIGN_OR_RETURN(answer_.bytes_up, reader->GetInt());
  PS_ASSIGN_OR_RETURN(answer_.weights.difference, reader->GetInt());
  PS_ASSIGN_OR_RETURN(answer_.weights.covers_pushes, reader->GetInt());
  PS_ASSIGN_OR_RETURN(const int64_t whole, reader->GetInt());
  PS_ASSIGN_OR_RETURN(answer_.weights.bytes, GetBuffer(reader));
  if (whole != 0) answer_.weights.bytes = weights_->All();
  answer_.version = progress_.version;
  answer_.compress_next = compress_next_;
  if (norms_.has_value()) PS_RETURN_IF_ERROR(norms_->Load(reader));
  // A single worker shares no positions, and its slices have no codec: in a job
  // with more workers before or after, the codec starts anew.
  if (coder_ == nullptr && may_have_coder_) reader->Rest();
  if (coder_ != nullptr && !reader->Finish().ok()) {
    PS_RETURN_IF_ERROR(coder_->Load(reader));
  }
  return absl::OkStatus();
}

}  // namespace ps
