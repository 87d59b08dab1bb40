#include "worker/server_state.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"

namespace ps {

ServerState::ServerState(const ServerStateOptions& options)
    : options_(options), writer_(options.backend) {}

absl::Status ServerState::WriteWeights(const SliceAnswer& answer,
                                       Tensor* weights) {
  return writer_.Write(answer, options_.buckets[answer.slice->bucket].begin,
                       weights);
}

absl::Status ServerState::Pull(Tensor* weights, Tensor* statistics) {
  return PullLast(0, 0, weights, statistics);
}

absl::Status ServerState::PullLast(int64_t pushes, int64_t averagings,
                                   Tensor* weights, Tensor* statistics) {
  return options_.client->PullLastWeights(
      pushes, averagings, [&](const SliceAnswer& answer) {
        return answer.slice->bucket == statistics_bucket()
                   ? writer_.Write(answer, 0, statistics)
                   : WriteWeights(answer, weights);
      });
}

absl::StatusOr<int64_t> ServerState::CatchUp(int64_t next_push,
                                             Tensor* weights) {
  int64_t newest = next_push;
  PS_RETURN_IF_ERROR(options_.client->PullLastWeights(
      next_push, /*averagings=*/0,
      [&](const SliceAnswer& answer) -> absl::Status {
        const int bucket = answer.slice->bucket;
        if (bucket == statistics_bucket()) return absl::OkStatus();
        newest = std::max(newest, answer.version);
        return WriteWeights(answer, weights);
      }));
  return newest;
}

absl::StatusOr<AveragingStats> ServerState::AverageStatistics(
    int64_t averaging, Tensor* statistics) {
  AveragingStats stats;
  if (options_.num_statistics == 0) return stats;
  staging_.resize(options_.num_statistics);
  PS_RETURN_IF_ERROR(
      options_.backend->CopyToHost(*statistics, staging_.data()));
  std::vector<PayloadBuffer> parts;
  for (const Slice& slice : options_.shard_map->slices(statistics_bucket())) {
    parts.push_back(EncodeDense(
        {staging_.data() + slice.begin, static_cast<size_t>(slice.size())}));
  }
  BucketPush push;
  push.iteration = averaging;
  push.bucket = statistics_bucket();
  PS_RETURN_IF_ERROR(options_.client->Push(push, parts));
  PS_RETURN_IF_ERROR(options_.client->AwaitAnswers(
      [&](const SliceAnswer& answer) -> absl::Status {
        if (answer.version != averaging + 1 && !options_.workers_drift) {
          return absl::InternalError(
              absl::StrCat("statistics have version ", answer.version,
                           " after averaging ", averaging));
        }
        stats.bytes_up += answer.bytes_up;
        stats.bytes_down += answer.bytes_down;
        return writer_.Write(answer, 0, statistics);
      }));
  return stats;
}

}  // namespace ps
