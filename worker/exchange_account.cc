#include "worker/exchange_account.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"

namespace ps {

void ExchangeAccount::Begin() {
  stats_ = ExchangeStats();
  num_answers_ = 0;
  first_push_ = absl::InfiniteFuture();
  last_answer_ = absl::InfinitePast();
}

void ExchangeAccount::Compressed(const CompressedBucket& compressed,
                                 TraceRecorder::Row row) {
  const CompressionStats& stats = compressed.encoded.stats;
  stats_.compression.push_back(stats);
  stats_.timings.compress += compressed.seconds();
  first_push_ = std::min(first_push_, compressed.end);
  if (trace_ == nullptr) return;
  trace_->Span(
      row, absl::StrCat("compress bucket ", compressed.bucket),
      compressed.start, compressed.end,
      {{"elements", compressed.num_elements},
       {"sent_elements", stats.count},
       {"achieved_ratio", static_cast<double>(stats.count) /
                              static_cast<double>(compressed.num_elements)},
       {"bytes", compressed.size_bytes}});
}

void ExchangeAccount::Applied(const AppliedAnswer& applied,
                              TraceRecorder::Row row) {
  const SliceAnswer& answer = applied.answer;
  const ServerTimings& server = answer.timings;
  ++num_answers_;
  last_answer_ = applied.end;
  // Every slice's answer carries the same loss, except in asynchronous modes.
  stats_.mean_loss = answer.mean_loss;
  stats_.sent_elements += answer.sent_elements;
  stats_.bytes_up += answer.bytes_up;
  stats_.bytes_down += answer.bytes_down;
  stats_.dropped += answer.dropped ? 1 : 0;
  stats_.retries += answer.retries;
  stats_.stop = stats_.stop || answer.stop;
  stats_.mean_staleness += static_cast<double>(answer.staleness);
  stats_.max_staleness = std::max(stats_.max_staleness, answer.staleness);
  Timings& timings = stats_.timings;
  timings.apply += applied.seconds();
  timings.wire += absl::ToDoubleSeconds(answer.latency) - server.held;
  timings.server += server;
  if (trace_ == nullptr) return;
  constexpr double kMicros = 1e6;
  const std::string slice = absl::StrCat("bucket ", answer.slice->bucket,
                                         " slice ", answer.slice->index);
  trace_->UnderWay(slice, answer.sent, answer.arrived,
                   {{"server", int64_t{answer.slice->server}},
                    {"bytes_down", answer.bytes_down},
                    {"held_us", server.held * kMicros},
                    {"wait_us", server.wait * kMicros},
                    {"sum_us", server.sum * kMicros},
                    {"optimizer_us", server.optimizer * kMicros},
                    {"encode_us", server.encode * kMicros}});
  trace_->Span(row, absl::StrCat("apply ", slice), applied.start, applied.end,
               {{"bytes", answer.bytes_down}});
}

void ExchangeAccount::BeginAwait(absl::Time start) {
  await_start_ = start;
  applied_before_await_ = stats_.timings.apply;
}

ExchangeStats ExchangeAccount::End() {
  Timings& timings = stats_.timings;
  timings.await = absl::ToDoubleSeconds(SteadyClock()->Now() - await_start_) -
                  (timings.apply - applied_before_await_);
  timings.communication =
      std::max(0.0, absl::ToDoubleSeconds(last_answer_ - first_push_));
  if (num_answers_ > 0) {
    for (double* mean : {&timings.wire, &timings.server.held,
                         &timings.server.wait, &stats_.mean_staleness}) {
      *mean /= static_cast<double>(num_answers_);
    }
  }
  return std::move(stats_);
}

}  // namespace ps
