#include "worker/batch_feed.h"

#include "common/random.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// Distinguishes a batch's random draws from all other uses of the job's seed:
// "dropout" in ASCII.
constexpr uint64_t kDropoutKey = 0x64726f706f7574;

BatchLoaderOptions LoaderOptions(const JobConfig& config, int worker_rank,
                                 const TrainingParts& parts) {
  BatchLoaderOptions options;
  options.dataset = parts.data.train.get();
  options.sampler = parts.sampler.get();
  options.worker_rank = worker_rank;
  options.end_iteration = parts.total_iterations;
  options.num_threads = config.machine().loader_threads();
  options.prefetch_batches = config.machine().prefetch_batches();
  return options;
}

}  // namespace

BatchFeed::BatchFeed(const JobConfig& config, int worker_rank,
                     const TrainingParts& parts)
    : seed_(config.seed()),
      worker_rank_(worker_rank),
      loader_(LoaderOptions(config, worker_rank, parts)) {}

absl::StatusOr<Batch*> BatchFeed::At(int64_t iteration) {
  Batch* batch = nullptr;
  const bool passes_over = next_ < iteration;
  while (next_ <= iteration) {
    PS_ASSIGN_OR_RETURN(batch, loader_.Next());
    ++next_;
  }
  // The state of recurrent layers does not belong to the preceding batch.
  if (passes_over) batch->continues = false;
  batch->random_key =
      RandomKey(seed_, kDropoutKey, static_cast<uint64_t>(iteration),
                static_cast<uint64_t>(worker_rank_));
  return batch;
}

}  // namespace ps
