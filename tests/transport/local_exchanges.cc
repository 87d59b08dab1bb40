#include "tests/transport/local_exchanges.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {

class LocalExchanges::End final : public StageExchange {
 public:
  End(LocalExchanges* all, int rank) : all_(all), rank_(rank) {}

  absl::Status Put(int to, int stream, int64_t number,
                   absl::Span<const float> values) override {
    PS_RETURN_IF_ERROR(all_->Check(rank_, to, stream, number));
    return all_->Put({rank_, to, stream}, number, values);
  }

  absl::Status Get(int from, int stream, int64_t number,
                   absl::Span<float> values) override {
    PS_RETURN_IF_ERROR(all_->Check(rank_, from, stream, number));
    return all_->Get({from, rank_, stream}, number, values);
  }

 private:
  LocalExchanges* const all_;  // Owns this.
  const int rank_;
};

LocalExchanges::LocalExchanges(int num_workers) {
  for (int rank = 0; rank < num_workers; ++rank) {
    ends_.push_back(std::make_unique<End>(this, rank));
  }
}

void LocalExchanges::Fail(const absl::Status& failure) {
  MutexLock lock(&mu_);
  failure_ = failure;
  news_.SignalAll();
}

int64_t LocalExchanges::num_kept() const {
  MutexLock lock(&mu_);
  int64_t kept = 0;
  for (const auto& [id, stream] : streams_) {
    kept += static_cast<int64_t>(stream.kept.size());
  }
  return kept;
}

absl::Status LocalExchanges::Check(int rank, int peer, int stream,
                                   int64_t number) const {
  const int num_workers = static_cast<int>(ends_.size());
  if (peer >= 0 && peer < num_workers && peer != rank && stream >= 0 &&
      stream < kNumStageStreams && number >= 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("array ", number, " of stream ", stream, " between workers ",
                   rank, " and ", peer, " of ", num_workers));
}

absl::Status LocalExchanges::Put(const StreamId& id, int64_t number,
                                 absl::Span<const float> values) {
  MutexLock lock(&mu_);
  PS_RETURN_IF_ERROR(failure_);
  Stream& stream = streams_[id];
  if (number <= stream.last_put) return absl::OkStatus();
  stream.last_put = number;
  if (number >= stream.last_get) {
    stream.kept[number].assign(values.begin(), values.end());
  }
  news_.SignalAll();
  return absl::OkStatus();
}

absl::Status LocalExchanges::Get(const StreamId& id, int64_t number,
                                 absl::Span<float> values) {
  MutexLock lock(&mu_);
  Stream& stream = streams_[id];
  if (number <= stream.last_get) {
    return absl::InvalidArgumentError(absl::StrCat(
        "array ", number, " is asked for after ", stream.last_get));
  }
  stream.last_get = number;
  stream.kept.erase(stream.kept.begin(), stream.kept.lower_bound(number));
  while (failure_.ok() && stream.kept.count(number) == 0) news_.Wait(&mu_);
  PS_RETURN_IF_ERROR(failure_);
  const std::vector<float>& kept = stream.kept[number];
  if (kept.size() != values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("array ", number, " has ", kept.size(), " values; ",
                     values.size(), " are expected"));
  }
  std::copy(kept.begin(), kept.end(), values.begin());
  return absl::OkStatus();
}

}  // namespace ps
