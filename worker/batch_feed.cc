#include "worker/batch_feed.h"

#include "common/random.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// Distinguishes a batch's random draws from all other uses of the job's seed:
// "dropout" in ASCII.
constexpr uint64_t kDropoutKey = 0x64726f706f7574;

BatchLoaderOptions LoaderOptions(const JobConfig& config, int worker_rank,
                                 const TrainingParts& parts, int64_t first) {
  BatchLoaderOptions options;
  options.first_iteration = first;
  options.dataset = parts.data.train.get();
  options.sampler = &parts.plan->sampler;
  options.worker_rank = parts.plan->ReaderRank(worker_rank);
  options.end_iteration = parts.plan->total_iterations;
  options.num_threads = config.machine().loader_threads();
  options.prefetch_batches = config.machine().prefetch_batches();
  return options;
}

}  // namespace

BatchFeed::BatchFeed(const JobConfig& config, int worker_rank,
                     const TrainingParts& parts, int64_t first)
    : seed_(config.seed()),
      worker_rank_(parts.plan->ReaderRank(worker_rank)),
      end_(parts.plan->total_iterations),
      loader_(LoaderOptions(config, worker_rank, parts, first)),
      next_(first),
      read_(first) {}

absl::StatusOr<Batch*> BatchFeed::At(int64_t iteration) {
  const bool passes_over = next_ < iteration;
  while (read_ <= iteration) PS_RETURN_IF_ERROR(Read());
  // The state of recurrent layers does not belong to the preceding batch.
  if (passes_over) latest_->continues = false;
  next_ = iteration + 1;
  return latest_;
}

absl::StatusOr<Batch*> BatchFeed::Peek() {
  if (next_ == end_) return nullptr;
  if (read_ == next_) PS_RETURN_IF_ERROR(Read());
  return latest_;
}

absl::Status BatchFeed::Read() {
  PS_ASSIGN_OR_RETURN(latest_, loader_.Next());
  latest_->upload = 0;
  latest_->random_key =
      RandomKey(seed_, kDropoutKey, static_cast<uint64_t>(read_),
                static_cast<uint64_t>(worker_rank_));
  ++read_;
  return absl::OkStatus();
}

}  // namespace ps
