#include "worker/server_state.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"

namespace ps {

ServerState::ServerState(const WorkerContext& context, int64_t num_statistics)
    : context_(context),
      num_statistics_(num_statistics),
      workers_drift_(WorkersDrift(*context.config)),
      writer_(context.backend) {}

absl::Status ServerState::WriteWeights(const SliceAnswer& answer,
                                       Tensor* weights) {
  return writer_.Write(answer, context_.buckets[answer.slice->bucket].begin,
                       weights);
}

absl::Status ServerState::Pull(int64_t pushes, int64_t averagings,
                               Tensor* weights, Tensor* statistics) {
  std::string wrong;
  PS_RETURN_IF_ERROR(context_.client->PullWeights(
      pushes, averagings, [&](const SliceAnswer& answer) {
        const int64_t needed = is_weights(answer) ? pushes : averagings;
        if (answer.version != needed && !workers_drift_) {
          wrong = absl::StrCat("slice ", answer.slice->index, " of bucket ",
                               answer.slice->bucket, " has version ",
                               answer.version, ", and ", needed, " is needed");
        }
        if (is_weights(answer)) return WriteWeights(answer, weights);
        return is_statistics(answer) ? writer_.Write(answer, 0, statistics)
                                     : absl::OkStatus();
      }));
  return wrong.empty() ? absl::OkStatus() : context_.client->StartAgain(wrong);
}

absl::StatusOr<int64_t> ServerState::CatchUp(int64_t next_push,
                                             Tensor* weights) {
  int64_t newest = next_push;
  PS_RETURN_IF_ERROR(context_.client->PullWeights(
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
  for (const Slice& slice : context_.shard_map->slices(bucket)) {
    parts.push_back(EncodeDense(
        {values.data() + slice.begin, static_cast<size_t>(slice.size())}));
  }
  BucketPush push;
  push.iteration = averaging;
  push.bucket = bucket;
  PS_RETURN_IF_ERROR(context_.client->Push(push, parts));
  return context_.client->AwaitAnswers(
      [&](const SliceAnswer& answer) -> absl::Status {
        if (answer.version != averaging + 1 && !workers_drift_) {
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
  if (num_statistics_ == 0) return stats;
  staging_.resize(num_statistics_);
  PS_RETURN_IF_ERROR(
      context_.backend->CopyToHost(*statistics, staging_.data()));
  PS_RETURN_IF_ERROR(Average(
      statistics_bucket(), averaging, staging_,
      [&](const SliceAnswer& answer) {
        return writer_.Write(answer, 0, statistics);
      },
      &stats));
  return stats;
}

absl::StatusOr<bool> ServerState::AgreeToEnd(int64_t evaluation, bool vote,
                                             AveragingStats* stats) {
  if (votes_.size() == 0) {
    PS_ASSIGN_OR_RETURN(votes_, context_.backend->Allocate({1}));
  }
  PS_RETURN_IF_ERROR(Average(
      votes_bucket(), evaluation, {vote ? 1.0F : 0.0F},
      [&](const SliceAnswer& answer) {
        return writer_.Write(answer, 0, &votes_);
      },
      stats));
  float value = 0;
  PS_RETURN_IF_ERROR(context_.backend->CopyToHost(votes_, &value));
  return value > 0;
}

}  // namespace ps
