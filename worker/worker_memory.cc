#include "worker/worker_memory.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/machine_limits.h"
#include "common/status_macros.h"
#include "models/described/weight_uses.h"
#include "tensor/counting_backend.h"
#include "worker/bucket_plan.h"
#include "worker/evaluator.h"
#include "worker/gradient_pipeline.h"
#include "worker/job_model.h"
#include "worker/worker_context.h"
#include "worker/worker_weights.h"

namespace ps {
namespace {

constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kMebibyte = int64_t{1} << 20;
// Measured: a peak of 34 MiB with 6,370 parameters and 2 threads.
constexpr int64_t kProgramBytes = 40 * kMebibyte;

// Returns the bytes of one training batch.
int64_t BatchBytes(const JobConfig& config, const TrainingParts& parts) {
  const ExampleShape& example = parts.data.train->example_shape();
  return config.training().batch_size() * kFloat * (example.num_elements() + 1);
}

// Returns the bytes of a push and its answer in flight, twice each: as a
// message and in gRPC's buffers.
int64_t MessageBytes(const JobConfig& config, int64_t num_parameters) {
  const int64_t dense = num_parameters * kFloat;
  // A selected element has an index, too.
  const double kept = config.compressor().name() == "none"
                          ? 1
                          : std::min(1.0, 2 * config.compressor().ratio());
  return 2 * (static_cast<int64_t>(kept * static_cast<double>(dense)) + dense);
}

// Creates the pipeline that sends the gradients of `model`, which allocates
// from `backend`.
absl::Status MakePipeline(const JobConfig& config, int worker_rank,
                          const TrainingParts& parts, Model* model,
                          Backend* backend) {
  const std::vector<int64_t> averaged =
      AveragedBuckets(config.training(), model->statistics_values().size());
  PS_ASSIGN_OR_RETURN(const ShardMap map,
                      PlanShards(config, parts.buckets, averaged));
  WorkerContext context;
  context.config = &config;
  context.worker_rank = worker_rank;
  context.buckets = parts.buckets;
  context.shard_map = &map;
  context.backend = backend;
  GradientPipelineOptions options;
  options.parameters = model->parameters();
  PS_ASSIGN_OR_RETURN(options.uses,
                      WeightUses(*model, parts.data.train->example_shape()));
  return GradientPipeline::Create(context, options).status();
}

}  // namespace

absl::StatusOr<WorkerMemory> WorkerMemoryOf(const JobConfig& config,
                                            int worker_rank,
                                            const TrainingParts& parts) {
  WorkerMemory memory;
  memory.program = kProgramBytes;
  memory.data = parts.data_bytes + (config.machine().prefetch_batches() + 1) *
                                       BatchBytes(config, parts);
  JobConfig on_cpu = config;
  on_cpu.mutable_machine()->set_device("cpu");
  on_cpu.mutable_training()->set_precision(TrainingConfig::FP32);
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> kernels,
                      MakeBackend(on_cpu, worker_rank));
  CountingBackend backend(kernels.get());
  const int64_t heap_before = HeapBytes();
  PS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Model> model,
      MakeModel(on_cpu, parts.data.train->example_shape(), &backend));
  PS_ASSIGN_OR_RETURN(memory.activations,
                      model->PlanBytes(config.training().batch_size(),
                                       /*training=*/true));
  if (worker_rank == 0) {
    PS_ASSIGN_OR_RETURN(const int64_t evaluation,
                        model->PlanBytes(EvaluationBatchSize(*parts.data.test),
                                         /*training=*/false));
    memory.activations += evaluation;
  }
  memory.scratch = std::max<int64_t>(0, HeapBytes() - heap_before);

  const int64_t n = model->num_parameters();
  const int64_t before = backend.bytes();
  if (config.has_worker_optimizer()) {
    WorkerWeightsOptions own;
    own.config = &config;
    own.num_parameters = n;
    own.total_iterations = parts.plan->total_iterations;
    own.backend = &backend;
    PS_RETURN_IF_ERROR(WorkerWeights::Create(own).status());
  }
  const int64_t own_weights = backend.bytes() - before;
  // These are the servers' weights, and the gradient.
  memory.weights = 2 * n * kFloat + own_weights;

  const int64_t before_pipeline = backend.bytes();
  PS_RETURN_IF_ERROR(
      MakePipeline(config, worker_rank, parts, model.get(), &backend));
  memory.compression = backend.bytes() - before_pipeline;
  memory.messages = MessageBytes(config, NumTrained(parts.buckets));
  // A snapshot has the weights, the file with them, and the residuals, and the
  // state of worker_optimizer as such and as a part of it.
  memory.snapshot = 2 * n * kFloat;
  if (config.checkpoint().every() > 0) memory.snapshot += 2 * own_weights;
  return memory;
}

std::string Describe(const WorkerMemory& memory) {
  const auto mebibytes = [](int64_t bytes) {
    return (bytes + kMebibyte - 1) / kMebibyte;
  };
  return absl::StrCat(
      "about ", mebibytes(memory.total()), " MiB of memory: program ",
      mebibytes(memory.program), ", data ", mebibytes(memory.data),
      ", weights ", mebibytes(memory.weights), ", activations ",
      mebibytes(memory.activations), ", scratch ", mebibytes(memory.scratch),
      ", compression ", mebibytes(memory.compression), ", messages ",
      mebibytes(memory.messages), ", snapshot ", mebibytes(memory.snapshot));
}

}  // namespace ps
