#include "worker/server_state.h"

#include <algorithm>
#include <string>

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

absl::Status ServerState::Pull(int64_t pushes, int64_t averagings,
                               Tensor* weights, Tensor* statistics) {
  std::string wrong;
  PS_RETURN_IF_ERROR(options_.client->PullWeights(
      pushes, averagings, [&](const SliceAnswer& answer) {
        const int64_t needed = is_weights(answer) ? pushes : averagings;
        if (answer.version != needed && !options_.workers_drift) {
          wrong = absl::StrCat("slice ", answer.slice->index, " of bucket ",
                               answer.slice->bucket, " has version ",
                               answer.version, ", and ", needed, " is needed");
        }
        if (is_weights(answer)) return WriteWeights(answer, weights);
        return is_statistics(answer) ? writer_.Write(answer, 0, statistics)
                                     : absl::OkStatus();
      }));
  return wrong.empty() ? absl::OkStatus() : options_.client->StartAgain(wrong);
}

absl::StatusOr<int64_t> ServerState::CatchUp(int64_t next_push,
                                             Tensor* weights) {
  int64_t newest = next_push;
  PS_RETURN_IF_ERROR(options_.client->PullWeights(
      next_push, /*averagings=*/0,
      [&](const SliceAnswer& answer) -> absl::Status {
        if (!is_weights(answer)) return absl::OkStatus();
        newest = std::max(newest, answer.version);
        return WriteWeights(answer, weights);
      }));
  return newest;
}

absl::Status ServerState::Average(int bucket, int64_t averaging,
                                  const std::vector<float>& values,
                                  const AnswerHandler& write,
                                  AveragingStats* stats) {
  std::vector<PayloadBuffer> parts;
  for (const Slice& slice : options_.shard_map->slices(bucket)) {
    parts.push_back(EncodeDense(
        {values.data() + slice.begin, static_cast<size_t>(slice.size())}));
  }
  BucketPush push;
  push.iteration = averaging;
  push.bucket = bucket;
  PS_RETURN_IF_ERROR(options_.client->Push(push, parts));
  return options_.client->AwaitAnswers(
      [&](const SliceAnswer& answer) -> absl::Status {
        if (answer.version != averaging + 1 && !options_.workers_drift) {
          return absl::InternalError(
              absl::StrCat("bucket ", bucket, " has version ", answer.version,
                           " after averaging ", averaging));
        }
        stats->bytes_up += answer.bytes_up;
        stats->bytes_down += answer.bytes_down;
        return write(answer);
      });
}

absl::StatusOr<AveragingStats> ServerState::AverageStatistics(
    int64_t averaging, Tensor* statistics) {
  AveragingStats stats;
  if (options_.num_statistics == 0) return stats;
  staging_.resize(options_.num_statistics);
  PS_RETURN_IF_ERROR(
      options_.backend->CopyToHost(*statistics, staging_.data()));
  PS_RETURN_IF_ERROR(Average(
      statistics_bucket(), averaging, staging_,
      [&](const SliceAnswer& answer) {
        return writer_.Write(answer, 0, statistics);
      },
      &stats));
  return stats;
}

absl::StatusOr<bool> ServerState::AgreeToEnd(int64_t evaluation, bool wish,
                                             AveragingStats* stats) {
  if (wishes_.size() == 0) {
    PS_ASSIGN_OR_RETURN(wishes_, options_.backend->Allocate({1}));
  }
  PS_RETURN_IF_ERROR(Average(
      wishes_bucket(), evaluation, {wish ? 1.0F : 0.0F},
      [&](const SliceAnswer& answer) {
        return writer_.Write(answer, 0, &wishes_);
      },
      stats));
  float value = 0;
  PS_RETURN_IF_ERROR(options_.backend->CopyToHost(wishes_, &value));
  return value > 0;
}

}  // namespace ps
