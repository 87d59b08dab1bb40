#include "tools/bench/worker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/consistency.h"
#include "common/entropy.h"
#include "common/program.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// A bench ends on request, but servers must be told a number of iterations.
constexpr int64_t kMostIterations = int64_t{1} << 40;

}  // namespace

absl::StatusOr<ShardMap> BenchShardMap(const JobConfig& job, int64_t elements) {
  const int64_t wanted = static_cast<int64_t>(
      job.training().bucket_megabytes() * (int64_t{1} << 18));
  // 0 means one bucket.
  const int64_t size = wanted > 0 ? wanted : elements;
  std::vector<Bucket> buckets;
  for (int64_t begin = 0; begin < elements; begin += size) {
    buckets.push_back({begin, std::min(begin + size, elements)});
  }
  return PlanShards(job, buckets, /*averaged=*/{});
}

BenchWorker::BenchWorker(const JobConfig* job, const ShardMap* shard_map,
                         int rank)
    : job_(job), rank_(rank) {
  int64_t begin = 0;
  for (const int64_t size : shard_map->bucket_sizes()) {
    buckets_.push_back({begin, begin + size});
    begin += size;
  }
}

absl::Status BenchWorker::Join(absl::Span<const float> first_weights) {
  JoinClusterOptions options;
  options.config = job_;
  options.worker_rank = rank_;
  options.incarnation = Entropy();
  options.name = ProcessName();
  options.buckets = buckets_;
  options.num_pushes = kMostIterations;
  PS_ASSIGN_OR_RETURN(link_, JoinCluster(options));
  if (rank_ != 0) return absl::OkStatus();
  std::vector<const float*> weights;
  for (const Bucket& bucket : buckets_) {
    weights.push_back(first_weights.data() + bucket.begin);
  }
  return link_.client->InitializeWeights(weights);
}

absl::Status BenchWorker::Push(const BenchPayloads& payloads,
                               bool wants_weights,
                               const AnswerHandler& handler) {
  BucketPush push;
  push.iteration = iteration_;
  push.wants_weights = wants_weights;
  for (const std::vector<PayloadBuffer>& bucket : payloads) {
    PS_RETURN_IF_ERROR(link_.client->Push(push, bucket));
    ++push.bucket;
  }
  PS_RETURN_IF_ERROR(link_.client->AwaitAnswers(handler));
  ++iteration_;
  return absl::OkStatus();
}

absl::Status BenchWorker::Pull(const AnswerHandler& handler) {
  int64_t pulled = 0;
  // Workers that drift apart do not wait for each other here.
  const int64_t pushes = WorkersDrift(*job_) ? 0 : iteration_;
  PS_RETURN_IF_ERROR(
      link_.client->PullWeights(pushes, 0, [&](const SliceAnswer& answer) {
        pulled += answer.slice->size();
        return handler(answer);
      }));
  if (pulled == elements()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("pulled ", pulled, " of ", elements(), " weights"));
}

absl::Status BenchWorker::Finish(const absl::Status& failure) {
  return link_.client == nullptr ? absl::OkStatus()
                                 : link_.client->Finish(failure);
}

}  // namespace ps
