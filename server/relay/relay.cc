#include "server/relay/relay.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace ps {

Relay::Relay(int num_workers, int64_t credit_bytes)
    : credit_("arrays for other workers that wait here", num_workers,
              credit_bytes) {}

void Relay::Put(const RelayStream& stream, ReceivedStageMessage chunk,
                PutDone done) {
  const RelayPlace place = {chunk.header.number(), chunk.header.chunk()};
  PutDone before;
  GetDone waiting;
  std::shared_ptr<const ReceivedStageMessage> kept;
  absl::Status answer;
  {
    MutexLock lock(&mu_);
    State& state = streams_[stream];
    const auto same = state.kept.find(place);
    if (over_) {
      answer = result_;
    } else if (place < state.begin) {
      answer = absl::OkStatus();
    } else if (same != state.kept.end()) {
      before = std::exchange(same->second.done, std::move(done));
    } else if (absl::StatusOr<std::shared_ptr<const void>> claim = credit_.Take(
                   stream.from, chunk.message_bytes + kKeptChunkBytes,
                   chunk.values.owner);
               !claim.ok()) {
      answer = claim.status();
    } else {
      chunk.values.owner = *std::move(claim);
      kept = std::make_shared<ReceivedStageMessage>(std::move(chunk));
      state.kept[place] = {kept, std::move(done)};
      if (!(state.begin < place))
        waiting = std::exchange(state.waiting, nullptr);
    }
  }
  if (before != nullptr) before(absl::CancelledError("sent again"));
  if (done != nullptr) done(answer);
  if (waiting != nullptr) waiting(std::move(kept));
}

void Relay::Get(const RelayStream& stream, const RelayPlace& place,
                GetDone done) {
  GetDone before;
  std::vector<Kept> forgotten;
  absl::StatusOr<std::shared_ptr<const ReceivedStageMessage>> answer =
      absl::UnknownError("not there yet");
  {
    MutexLock lock(&mu_);
    State& state = streams_[stream];
    if (over_) {
      answer = result_.ok() ? absl::AbortedError("the job is over") : result_;
    } else if (place < state.begin) {
      answer = absl::InvalidArgumentError(absl::StrCat(
          "chunk ", place.chunk, " of array ", place.number, " of stream ",
          stream.stream, " from worker ", stream.from, " to worker ", stream.to,
          " was forgotten when chunk ", state.begin.chunk, " of array ",
          state.begin.number, " was asked for"));
    } else {
      before = std::exchange(state.waiting, nullptr);
      state.begin = place;
      while (!state.kept.empty() && state.kept.begin()->first < place) {
        forgotten.push_back(std::move(state.kept.begin()->second));
        state.kept.erase(state.kept.begin());
      }
      const auto there = state.kept.find(place);
      if (there != state.kept.end()) {
        answer = there->second.chunk;
      } else {
        state.waiting = std::exchange(done, nullptr);
      }
    }
  }
  if (before != nullptr) before(absl::CancelledError("asked again"));
  for (const Kept& kept : forgotten) kept.done(absl::OkStatus());
  if (done != nullptr) done(std::move(answer));
}

void Relay::End(const absl::Status& status) {
  std::map<RelayStream, State> streams;
  {
    MutexLock lock(&mu_);
    if (over_) return;
    over_ = true;
    result_ = status;
    streams.swap(streams_);
  }
  const absl::Status none =
      status.ok() ? absl::AbortedError("the job is over") : status;
  for (const auto& [stream, state] : streams) {
    for (const auto& [place, kept] : state.kept) kept.done(status);
    if (state.waiting != nullptr) state.waiting(none);
  }
}

}  // namespace ps
