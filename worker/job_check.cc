#include "worker/job_check.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/batch.h"
#include "common/counted.h"
#include "common/machine_limits.h"
#include "common/status_macros.h"
#include "common/thread_pool.h"
#include "data/dataset.h"
#include "tensor/backend.h"
#include "transport/shard_map.h"
#include "worker/bucket_plan.h"
#include "worker/initial_weights.h"
#include "worker/training_parts.h"

namespace ps {

namespace {

// The most reasons for examples that cannot be read.
constexpr size_t kMaxReasons = 10;

// Appends a reason for every example of `set` that cannot be read.
void ReadAll(const Dataset& set, ThreadPool* pool,
             std::vector<std::string>* reasons) {
  constexpr int64_t kChunk = 16;
  std::vector<std::vector<std::string>> by_chunk(NumChunks(set.size(), kChunk));
  pool->ParallelFor(set.size(), kChunk, [&](const ChunkRange& chunk) {
    Batch batch;
    for (int64_t number = chunk.begin; number < chunk.end; ++number) {
      const absl::Status read = set.Read({number}, /*epoch=*/0, &batch);
      if (!read.ok()) by_chunk[chunk.index].emplace_back(read.message());
    }
  });
  for (const std::vector<std::string>& chunk : by_chunk) {
    reasons->insert(reasons->end(), chunk.begin(), chunk.end());
  }
}

}  // namespace

absl::Status CheckEveryExample(const JobConfig& config) {
  DatasetOptions options;
  options.config = config.data();
  // This finds damaged examples, which training would skip.
  options.config.set_on_bad_example(DataConfig::FAIL);
  options.seed = config.seed();
  PS_ASSIGN_OR_RETURN(const DatasetPair data, NewDataset(options));
  ThreadPool pool(MachineCores());
  std::vector<std::string> reasons;
  ReadAll(*data.train, &pool, &reasons);
  ReadAll(*data.test, &pool, &reasons);
  if (reasons.empty()) return absl::OkStatus();
  const size_t total = reasons.size();
  if (total > kMaxReasons) {
    reasons.resize(kMaxReasons);
    reasons.push_back(absl::StrCat("and ", total - kMaxReasons, " more"));
  }
  return absl::DataLossError(
      absl::StrCat(Counted(static_cast<int64_t>(total), "example"), " of ",
                   data.train->size() + data.test->size(),
                   " cannot be read:\n  ", absl::StrJoin(reasons, "\n  ")));
}

namespace {

absl::Status DealToServers(const JobConfig& config, const TrainingParts& parts,
                           CheckedJob* job) {
  JobConfig dealing = config;
  const auto deal = [&] {
    return PlanShards(dealing, parts.buckets,
                      AveragedBuckets(config.training(),
                                      parts.model->statistics_values().size()))
        .status();
  };
  absl::Status dealt = deal();
  if (!dealt.ok() && !config.cluster().has_num_servers() &&
      config.cluster().servers().empty()) {
    dealing.mutable_cluster()->set_num_servers(1);
    dealt = deal();
    job->notes.push_back(
        "the model makes one slice of weights, so that the job has one server "
        "(cluster.num_servers)");
  }
  job->num_servers = dealing.cluster().num_servers();
  return dealt;
}

}  // namespace

absl::StatusOr<CheckedJob> CheckTraining(const JobConfig& config,
                                         int worker_rank) {
  PS_ASSIGN_OR_RETURN(const TrainingParts parts,
                      MakeTrainingParts(config, worker_rank));
  CheckedJob job;
  PS_RETURN_IF_ERROR(DealToServers(config, parts, &job));
  if (worker_rank == 0 && !config.model().initial_weights().empty()) {
    PS_RETURN_IF_ERROR(
        MakeInitialWeights(config, parts.model.get(), parts.backend.get())
            .status());
  }
  job.summary =
      absl::StrCat(config.model().name(), " with ", ParametersText(parts), ", ",
                   Counted(parts.data.train->size(), "training example"), ", ",
                   Counted(parts.data.test->size(), "test example"), ", ",
                   Counted(parts.plan->total_iterations, "iteration"));
  if (parts.backend->uses_threads()) {
    JobConfig dealt = config;
    dealt.mutable_cluster()->set_num_servers(job.num_servers);
    PS_ASSIGN_OR_RETURN(job.memory, WorkerMemoryOf(dealt, worker_rank, parts));
  }
  job.data_text = parts.data.description.text();
  job.notes.insert(job.notes.end(), parts.notes.begin(), parts.notes.end());
  return job;
}

}  // namespace ps
