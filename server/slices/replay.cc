#include "server/slices/replay.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"
#include "transport/push_samples.h"

namespace ps {
namespace {

bool SameBytes(const PayloadPieces& a, const PayloadPieces& b) {
  const auto joined = [](const PayloadPieces& pieces) {
    std::vector<uint8_t> bytes;
    for (const absl::Span<const uint8_t> piece : pieces) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    }
    return bytes;
  };
  return joined(a) == joined(b);
}

// Returns the state before the updates of a history.
absl::StatusOr<std::unique_ptr<SliceState>> StateBefore(
    const SliceOptions& options, const std::string& saved,
    const SliceHistory& history) {
  if (!saved.empty() || !history.first.has_value()) {
    return SliceState::Load(options, saved);
  }
  const PayloadPieces& first = history.first->pieces;
  PS_ASSIGN_OR_RETURN(const PayloadInfo info,
                      ValidatePayload(first, options.num_elements));
  const absl::Status checked = CheckFirst(options.rule, info);
  if (!checked.ok()) return absl::DataLossError(checked.message());
  return SliceState::Create(options, first);
}

// Returns the first update that the state has not received.
std::map<int64_t, UpdateRecord>::const_iterator FirstAfter(
    const SliceState& state, const SliceHistory& history) {
  return history.updates.lower_bound(state.progress().version);
}

// Checks an update. has_coder: a server-side codec checks its own values.
absl::Status CheckUpdate(const SliceOptions& options,
                         const UpdateRecord& update, bool has_coder) {
  if (UpdatesByEachPush(*options.config) && update.pushes.size() != 1) {
    return absl::DataLossError(
        absl::StrCat("an update with ", update.pushes.size(),
                     " pushes; this job makes one of each push"));
  }
  for (const WorkerPush& push : update.pushes) {
    if (push.rank < 0 || push.rank >= options.config->cluster().num_workers()) {
      return absl::DataLossError(absl::StrCat("a push of worker ", push.rank));
    }
    const absl::Status samples =
        CheckPushSamples(*options.config, push.samples);
    if (!samples.ok()) return absl::DataLossError(samples.message());
    if (has_coder && CodedByCompressor(push.payload.pieces)) {
      if (!push.dense) continue;
      return absl::DataLossError(
          absl::StrCat("a push of worker ", push.rank,
                       " has a compressor's own values, and its record says "
                       "dense"));
    }
    PS_ASSIGN_OR_RETURN(
        const PayloadInfo info,
        ValidatePayload(push.payload.pieces, options.num_elements));
    const bool dense = info.index_code == IndexCode::kDense;
    if (push.dense != dense) {
      return absl::DataLossError(absl::StrCat(
          "a push of worker ", push.rank, " is ", dense ? "dense" : "sparse",
          ", and its record says ", push.dense ? "dense" : "sparse"));
    }
    if (options.rule == UpdateRule::kMean && !dense) {
      return absl::DataLossError("statistics are not dense");
    }
  }
  for (const SquaresTotals& totals : update.totals) {
    for (const TensorStretch& stretch : options.stretches) {
      if (stretch.tensor < static_cast<int>(totals.tensors.size())) continue;
      return absl::DataLossError(
          absl::StrCat("norms of ", totals.tensors.size(), " tensors; tensor ",
                       stretch.tensor, " is in this slice"));
    }
  }
  return absl::OkStatus();
}

// Repeats the update of this iteration, which must be whole.
absl::Status Repeat(int64_t iteration, const UpdateRecord& update,
                    SliceState* state) {
  PS_ASSIGN_OR_RETURN(const std::vector<Squares> squares, state->Apply(update));
  if (squares.empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("update ", iteration, " lacks an exchange of norms"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SliceState>> StateAfter(
    const SliceOptions& options, const std::string& saved,
    const SliceHistory& history) {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<SliceState> state,
                      StateBefore(options, saved, history));
  const auto end = history.updates.end();
  for (auto it = FirstAfter(*state, history); it != end; ++it) {
    const auto& [version, update] = *it;
    if (version != state->progress().version) {
      return absl::DataLossError(
          absl::StrCat("update ", state->progress().version,
                       " is missing before update ", version));
    }
    PS_RETURN_IF_ERROR(CheckUpdate(options, update, state->coder() != nullptr));
    PS_RETURN_IF_ERROR(Repeat(version, update, state.get()));
  }
  return state;
}

absl::StatusOr<std::unique_ptr<WorkerPast>> WorkerPast::Create(
    const SliceOptions& options, const std::string& saved,
    std::shared_ptr<const SliceHistory> history) {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<SliceState> state,
                      StateBefore(options, saved, *history));
  const auto end = history->updates.end();
  for (auto it = FirstAfter(*state, *history); it != end; ++it) {
    PS_RETURN_IF_ERROR(
        CheckUpdate(options, it->second, state->coder() != nullptr));
  }
  return std::unique_ptr<WorkerPast>(
      new WorkerPast(std::move(state), std::move(history)));
}

WorkerPast::WorkerPast(std::unique_ptr<SliceState> state,
                       std::shared_ptr<const SliceHistory> history)
    : state_(std::move(state)), history_(std::move(history)) {}

const UpdateRecord* WorkerPast::UpdateOf(int64_t iteration) const {
  if (iteration < state_->progress().version) return nullptr;
  const auto update = history_->updates.find(iteration);
  return update == history_->updates.end() ? nullptr : &update->second;
}

absl::StatusOr<std::optional<WeightAnswer>> WorkerPast::Answer(
    const WorkerPush& push) {
  const int64_t version = state_->progress().version;
  if (push.iteration != version - 1) {
    const UpdateRecord* const update = UpdateOf(version);
    if (push.iteration != version || update == nullptr) return std::nullopt;
    const auto counted = std::find_if(
        update->pushes.begin(), update->pushes.end(),
        [&](const WorkerPush& one) { return one.rank == push.rank; });
    if (counted == update->pushes.end() || counted->loss != push.loss ||
        counted->samples != push.samples ||
        !SameBytes(counted->payload.pieces, push.payload.pieces)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "worker ", push.rank,
          ", which was started again, does not repeat what it "
          "pushed in iteration ",
          push.iteration, "; does it run on another kind of processor?"));
    }
    PS_RETURN_IF_ERROR(Repeat(version, *update, state_.get()));
  }
  PS_ASSIGN_OR_RETURN(WeightAnswer answer,
                      state_->Answer(push.rank, push.base_version));
  return answer;
}

}  // namespace ps
