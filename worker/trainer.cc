#include "worker/trainer.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/random.h"
#include "common/schedule.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "data/batch_loader.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "glog/logging.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "tensor/new_backend.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"
#include "worker/bucket_plan.h"
#include "worker/first_weights.h"
#include "worker/gradient_dump.h"
#include "worker/gradient_pipeline.h"
#include "worker/local_steps.h"
#include "worker/push_plan.h"

namespace ps {
namespace {

// Sets a batch's random draws apart from all others of the job's seed:
// "dropout" in ASCII.
constexpr uint64_t kDropoutKey = 0x64726f706f7574;

// The norm costs a pass over memory.
constexpr int64_t kResidualNormEvery = 10;

class Trainer {
 public:
  explicit Trainer(const TrainerOptions& options) : options_(options) {}

  absl::StatusOr<TrainingResult> Run();

 private:
  absl::Status LoadDataAndModel();
  absl::Status JoinCluster();
  void StartReading();
  absl::Status StartRecording();
  absl::Status StartDump();
  absl::Status RunIterations();
  // All iterations of one push; returns the number of the next.
  absl::StatusOr<int64_t> RunPush(int64_t push);
  absl::StatusOr<Batch*> BatchOf(int64_t iteration);
  // One that ends without a push, or with one.
  double LocalLearningRate(int64_t push) const;
  absl::Status StepLocally(int64_t iteration, double rate);
  absl::StatusOr<ExchangeStats> StepWithPush(int64_t iteration, int64_t push);
  absl::Status EvaluateNow(int64_t number);
  absl::Status Record(const ExchangeStats& stats);
  double EpochsDone() const {
    return static_cast<double>(totals_.iterations) /
           static_cast<double>(sampler_->iterations_per_epoch());
  }
  const JobConfig& config() const { return options_.config; }

  const TrainerOptions options_;
  DatasetPair data_;
  std::unique_ptr<Sampler> sampler_;
  int64_t total_iterations_ = 0;
  std::unique_ptr<PushPlan> plan_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  Tensor weights_;   // [num_parameters]
  Tensor gradient_;  // [num_parameters]
  // What servers sent, [num_parameters]; weights_ itself without local steps.
  Tensor from_servers_;
  std::unique_ptr<LocalSteps> local_;  // Null without.

  std::unique_ptr<ShardMap> shard_map_;
  std::unique_ptr<ParameterClient> client_;
  std::unique_ptr<GradientPipeline> pipeline_;

  std::unique_ptr<RunRecorder> recorder_;  // Null where nothing is recorded.
  std::unique_ptr<GradientDump> dump_;     // Null where none is asked for.
  std::unique_ptr<BatchLoader> loader_;
  int64_t next_batch_ = 0;  // The iteration of the loader's next batch.
  absl::Duration training_time_;
  absl::Duration push_time_;    // Of the last push's iterations.
  double loss_ = 0;             // The sum of theirs.
  int64_t num_pushes_ = 0;      // That this worker has made,
  int64_t num_iterations_ = 0;  // of so many iterations.
  int64_t num_samples_ = 0;
  int64_t sent_elements_ = 0;
  RunTotals totals_;
  Evaluation evaluation_;
};

absl::Status Trainer::LoadDataAndModel() {
  DatasetOptions data;
  data.config = config().data();
  data.seed = config().seed();
  PS_ASSIGN_OR_RETURN(data_, NewDataset(data));

  SamplerOptions sampler;
  sampler.seed = config().seed();
  sampler.num_examples = data_.train->size();
  sampler.batch_size = config().training().batch_size();
  sampler.num_workers = config().cluster().num_workers();
  sampler.order = data_.train->order();
  PS_ASSIGN_OR_RETURN(Sampler made, Sampler::Create(sampler));
  sampler_ = std::make_unique<Sampler>(std::move(made));
  total_iterations_ =
      config().training().epochs() * sampler_->iterations_per_epoch();
  if (config().training().max_iterations() > 0) {
    total_iterations_ =
        std::min(total_iterations_, config().training().max_iterations());
  }

  PushPlanOptions plan;
  plan.total_iterations = total_iterations_;
  plan.local_steps = config().consistency().local_steps();
  plan.evaluate_every = config().training().evaluate_every_epochs() *
                        sampler_->iterations_per_epoch();
  plan_ = std::make_unique<PushPlan>(plan);

  DeviceOptions device;
  device.device = config().machine().device();
  device.num_threads = config().machine().worker_threads();
  if (device.num_threads == 0) {
    device.num_threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  device.worker_rank = options_.worker_rank;
  device.workers_on_machine = config().machine().workers_on_machine();
  device.device_memory_bytes =
      config().machine().device_memory_megabytes() * (int64_t{1} << 20);
  PS_ASSIGN_OR_RETURN(ChosenBackend chosen, NewBackend(device));
  LOG(INFO) << "worker " << options_.worker_rank << " computes on "
            << chosen.description;
  backend_ = std::move(chosen.backend);

  ModelOptions model;
  model.config = config().model();
  model.example = data_.train->example_shape();
  model.backend = backend_.get();
  PS_ASSIGN_OR_RETURN(model_, NewModel(model));
  // Not in the middle of the training, nor after it.
  for (const auto& [part, set] : {std::make_pair("training", data_.train.get()),
                                  std::make_pair("test", data_.test.get())}) {
    PS_RETURN_IF_ERROR(
        Annotate(set->CheckTranscripts(model_->frames_per_output()),
                 absl::StrCat("the ", part, " set")));
  }
  PS_ASSIGN_OR_RETURN(weights_, backend_->Allocate({model_->num_parameters()}));
  PS_ASSIGN_OR_RETURN(gradient_,
                      backend_->Allocate({model_->num_parameters()}));
  from_servers_ = weights_;
  if (config().consistency().local_steps() == 1) return absl::OkStatus();
  PS_ASSIGN_OR_RETURN(from_servers_,
                      backend_->Allocate({model_->num_parameters()}));
  PS_ASSIGN_OR_RETURN(
      local_, LocalSteps::Create(model_->num_parameters(), backend_.get()));
  return absl::OkStatus();
}

absl::Status Trainer::JoinCluster() {
  GradientPipelineOptions pipeline;
  pipeline.config = &options_.config;
  pipeline.worker_rank = options_.worker_rank;
  pipeline.parameters = model_->parameters();
  pipeline.buckets = PlanBuckets(
      pipeline.parameters, config().training().bucket_megabytes() * (1 << 20));

  ShardMapOptions map;
  for (const Bucket& bucket : pipeline.buckets) {
    map.bucket_sizes.push_back(bucket.size());
  }
  pipeline.num_statistics = model_->statistics_values().size();
  if (pipeline.num_statistics > 0) {
    map.bucket_sizes.push_back(pipeline.num_statistics);
  }
  map.num_servers = config().cluster().num_servers();
  map.max_slice_elements = config().cluster().max_slice_elements();
  PS_ASSIGN_OR_RETURN(ShardMap made, ShardMap::Create(map));
  shard_map_ = std::make_unique<ShardMap>(std::move(made));

  const ClusterConfig& cluster = config().cluster();
  ParameterClientOptions client;
  client.servers.assign(cluster.servers().begin(), cluster.servers().end());
  client.worker_rank = options_.worker_rank;
  client.incarnation = options_.incarnation;
  client.name = options_.name;
  client.config_text = SharedConfigText(config());
  // Of updates, as servers see them.
  client.total_iterations = plan_->num_pushes();
  client.num_averaged_buckets = pipeline.num_statistics > 0 ? 1 : 0;
  for (const Bucket& bucket : pipeline.buckets) {
    for (const ParameterInfo& tensor : pipeline.parameters) {
      if (tensor.offset < bucket.begin || tensor.offset >= bucket.end) continue;
      client.tensor_sizes.push_back(NumElements(tensor.shape));
      client.tensor_is_matrix.push_back(tensor.shape.size() > 1);
    }
  }
  if (pipeline.num_statistics > 0) {
    client.tensor_sizes.push_back(pipeline.num_statistics);
    client.tensor_is_matrix.push_back(false);
  }
  client.connections = cluster.connections();
  client.credit_bytes =
      static_cast<int64_t>(cluster.credit_megabytes() * (1 << 20));
  client.unix_sockets = cluster.unix_sockets();
  client.max_slice_elements = cluster.max_slice_elements();
  client.startup_timeout = absl::Seconds(cluster.startup_timeout_seconds());
  client.lost_server_timeout =
      absl::Seconds(cluster.lost_server_timeout_seconds());
  PS_ASSIGN_OR_RETURN(client_,
                      ParameterClient::Connect(client, shard_map_.get()));

  pipeline.shard_map = shard_map_.get();
  pipeline.backend = backend_.get();
  pipeline.client = client_.get();
  PS_ASSIGN_OR_RETURN(pipeline_, GradientPipeline::Create(pipeline));

  // Rank 0 alone decides; everybody, rank 0 included, takes what servers have.
  if (options_.worker_rank == 0) {
    PS_ASSIGN_OR_RETURN(
        const FirstWeights first,
        MakeFirstWeights(config(), model_.get(), backend_.get()));
    std::vector<const float*> bucket_values;
    for (const Bucket& bucket : pipeline.buckets) {
      bucket_values.push_back(first.weights.data() + bucket.begin);
    }
    if (pipeline.num_statistics > 0) {
      bucket_values.push_back(first.statistics.data());
    }
    PS_RETURN_IF_ERROR(client_->InitializeWeights(bucket_values));
  }
  PS_RETURN_IF_ERROR(
      pipeline_->PullWeights(&from_servers_, &model_->statistics_values()));
  if (local_ == nullptr) return absl::OkStatus();
  return local_->NextRound(from_servers_, &weights_);
}

absl::Status Trainer::StartRecording() {
  if (options_.run_directory.empty() || options_.worker_rank != 0) {
    return absl::OkStatus();
  }
  RunHeader header;
  header.job = config().name();
  header.model = config().model().name();
  header.compressor = config().compressor().name();
  header.value_code = config().compressor().value_code();
  header.target_ratio = HasTargetRatio(header.compressor)
                            ? config().compressor().ratio()
                            : std::numeric_limits<double>::quiet_NaN();
  header.num_workers = config().cluster().num_workers();
  header.num_servers = config().cluster().num_servers();
  header.num_parameters = model_->num_parameters();
  header.total_iterations = total_iterations_;
  header.iterations_per_epoch = sampler_->iterations_per_epoch();
  PS_ASSIGN_OR_RETURN(recorder_,
                      RunRecorder::Create(options_.run_directory, header));
  return absl::OkStatus();
}

absl::Status Trainer::StartDump() {
  GradientDumpOptions dump;
  dump.config = config().training().dump_gradients();
  if (dump.config.every() == 0 || options_.worker_rank != 0) {
    return absl::OkStatus();
  }
  dump.run_directory = options_.run_directory;
  dump.num_parameters = model_->num_parameters();
  dump.backend = backend_.get();
  PS_ASSIGN_OR_RETURN(dump_, GradientDump::Create(dump));
  return absl::OkStatus();
}

absl::Status Trainer::EvaluateNow(int64_t number) {
  PS_ASSIGN_OR_RETURN(
      const AveragingStats averaging,
      pipeline_->AverageStatistics(number, &model_->statistics_values()));
  totals_.bytes_up += averaging.bytes_up;
  totals_.bytes_down += averaging.bytes_down * config().cluster().num_workers();
  const bool last = number + 1 == plan_->NumEvaluations(plan_->num_pushes());
  if (last && WorkersDrift(config())) {
    // The others may be behind, and what is saved is what all have come to.
    PS_RETURN_IF_ERROR(
        pipeline_->PullLastWeights(plan_->num_pushes(), number + 1, &weights_,
                                   &model_->statistics_values()));
  }
  // One worker is enough: all hold the same weights, or nearly so.
  if (options_.worker_rank != 0) return absl::OkStatus();
  PS_ASSIGN_OR_RETURN(evaluation_,
                      Evaluate(*data_.test, weights_, model_.get()));
  LOG(INFO) << "test " << DescribeEvaluation(evaluation_)
            << absl::StrFormat(" after %.2f epochs", EpochsDone());
  if (recorder_ == nullptr) return absl::OkStatus();
  return recorder_->Evaluated(totals_.iterations, EpochsDone(), evaluation_);
}

absl::StatusOr<Batch*> Trainer::BatchOf(int64_t iteration) {
  Batch* batch = nullptr;
  // Servers may have gone on without this worker.
  const bool skips = next_batch_ < iteration;
  while (next_batch_ <= iteration) {
    PS_ASSIGN_OR_RETURN(batch, loader_->Next());
    ++next_batch_;
  }
  // What came before is not what the state of recurrent layers is of.
  if (skips) batch->continues = false;
  batch->random_key =
      RandomKey(config().seed(), kDropoutKey, static_cast<uint64_t>(iteration),
                static_cast<uint64_t>(options_.worker_rank));
  return batch;
}

absl::Status Trainer::StepLocally(int64_t iteration, double rate) {
  PS_ASSIGN_OR_RETURN(Batch* const batch, BatchOf(iteration));
  PS_ASSIGN_OR_RETURN(
      const BatchResult result,
      model_->ForwardBackward(*batch, weights_, &gradient_,
                              [](const BatchResult&, int64_t, int64_t) {
                                return absl::OkStatus();
                              }));
  loss_ += result.loss;
  num_samples_ += result.examples;
  return local_->Step(gradient_, rate, &weights_);
}

absl::StatusOr<ExchangeStats> Trainer::StepWithPush(int64_t iteration,
                                                    int64_t push) {
  PS_ASSIGN_OR_RETURN(Batch* const batch, BatchOf(iteration));
  const auto steps = static_cast<double>(plan_->End(push) - plan_->Begin(push));
  pipeline_->Begin(push, gradient_, from_servers_);
  PS_ASSIGN_OR_RETURN(
      const BatchResult result,
      model_->ForwardBackward(
          *batch, weights_, &gradient_,
          [&](const BatchResult& forward, int64_t begin, int64_t end) {
            absl::Status status;
            if (local_ != nullptr) {
              status = local_->AddTo(begin, end, &gradient_);
            }
            status.Update(
                pipeline_->Ready((loss_ + forward.loss) / steps, begin, end));
            return status;
          }));
  num_samples_ += result.examples;
  PS_ASSIGN_OR_RETURN(ExchangeStats stats, pipeline_->Await());
  if (stats.next_push > push + 1) {
    PS_ASSIGN_OR_RETURN(stats.next_push, pipeline_->CatchUp(stats.next_push));
  }
  if (local_ != nullptr) {
    PS_RETURN_IF_ERROR(local_->NextRound(from_servers_, &weights_));
  }
  return stats;
}

absl::StatusOr<int64_t> Trainer::RunPush(int64_t push) {
  const absl::Time start = absl::Now();
  const int64_t last = plan_->End(push) - 1;
  loss_ = 0;
  for (int64_t i = plan_->Begin(push); i < last; ++i) {
    PS_RETURN_IF_ERROR(Annotate(StepLocally(i, LocalLearningRate(push)),
                                absl::StrCat("iteration ", i)));
  }
  const absl::StatusOr<ExchangeStats> stats = StepWithPush(last, push);
  PS_RETURN_IF_ERROR(
      Annotate(stats.status(), absl::StrCat("iteration ", last)));
  push_time_ = absl::Now() - start;
  training_time_ += push_time_;
  pipeline_->IterationTook(absl::ToDoubleSeconds(push_time_));
  totals_.iterations = plan_->Begin(stats->next_push);
  num_iterations_ += plan_->End(push) - plan_->Begin(push);
  if (dump_ != nullptr) {
    PS_RETURN_IF_ERROR(dump_->Iteration(push, gradient_));
  }
  PS_RETURN_IF_ERROR(Record(*stats));
  return stats->next_push;
}

double Trainer::LocalLearningRate(int64_t push) const {
  OptimizerConfig rule = config().optimizer();
  const double own = config().consistency().local_learning_rate();
  if (own > 0) rule.set_learning_rate(own);
  return LearningRate(rule, config().schedule(), plan_->num_pushes(), push);
}

absl::Status Trainer::Record(const ExchangeStats& stats) {
  const int64_t num_workers = config().cluster().num_workers();
  const int64_t elements = model_->num_parameters() * num_workers;
  ++num_pushes_;
  sent_elements_ += stats.sent_elements;
  totals_.seconds = absl::ToDoubleSeconds(training_time_);
  totals_.samples_per_second =
      static_cast<double>(num_samples_ * num_workers) / totals_.seconds;
  totals_.achieved_ratio = static_cast<double>(sent_elements_) /
                           static_cast<double>(num_pushes_ * elements);
  if (stats.compressed_share.has_value()) {
    const double before = totals_.compressed_share.value_or(0);
    totals_.compressed_share = before + (*stats.compressed_share - before) /
                                            static_cast<double>(num_pushes_);
  }
  totals_.bytes_up += stats.bytes_up;
  // Every worker gets the same answers, or some like them where they drift.
  totals_.bytes_down += stats.bytes_down * num_workers;
  const int64_t dense_bytes =
      num_iterations_ * elements * static_cast<int64_t>(sizeof(float));
  totals_.dense_bytes_up = dense_bytes;
  totals_.dense_bytes_down = dense_bytes;
  totals_.left_out += stats.left_out;
  if (recorder_ == nullptr) return absl::OkStatus();
  IterationRecord record;
  record.epoch = EpochsDone();
  record.training_loss = stats.mean_loss;
  record.achieved_ratio =
      static_cast<double>(stats.sent_elements) / static_cast<double>(elements);
  for (const CompressionStats& bucket : stats.compression) {
    record.count += bucket.count;
    record.raw_count += bucket.raw_count;
    record.target_count += bucket.target_count;
  }
  if ((num_pushes_ - 1) % kResidualNormEvery == 0) {
    PS_ASSIGN_OR_RETURN(record.residual_norm, pipeline_->ResidualNorm());
  }
  record.compressed_share = stats.compressed_share;
  record.threshold = stats.compression.front().threshold;
  record.stages = stats.compression.front().stages;
  record.fallback = stats.compression.front().fallback;
  record.mean_staleness = stats.mean_staleness;
  record.max_staleness = stats.max_staleness;
  record.seconds = absl::ToDoubleSeconds(push_time_);
  record.exchange = stats.phases;
  record.totals = totals_;
  return recorder_->Iteration(record);
}

void Trainer::StartReading() {
  BatchLoaderOptions options;
  options.dataset = data_.train.get();
  options.sampler = sampler_.get();
  options.worker_rank = options_.worker_rank;
  options.end_iteration = total_iterations_;
  options.num_threads = config().machine().loader_threads();
  options.prefetch_batches = config().machine().prefetch_batches();
  loader_ = std::make_unique<BatchLoader>(options);
}

absl::Status Trainer::RunIterations() {
  StartReading();
  PS_RETURN_IF_ERROR(StartRecording());
  PS_RETURN_IF_ERROR(StartDump());
  for (int64_t push = 0; push < plan_->num_pushes();) {
    const int64_t done = plan_->NumEvaluations(push);
    PS_ASSIGN_OR_RETURN(push, RunPush(push));
    // Those that servers did without this worker are over.
    const int64_t due = plan_->NumEvaluations(push);
    if (due > done) PS_RETURN_IF_ERROR(EvaluateNow(due - 1));
  }
  if (dump_ != nullptr) PS_RETURN_IF_ERROR(dump_->Close());
  return absl::OkStatus();
}

absl::StatusOr<TrainingResult> Trainer::Run() {
  PS_RETURN_IF_ERROR(LoadDataAndModel());
  LOG(INFO) << "worker " << options_.worker_rank << " of "
            << config().cluster().num_workers() << ": "
            << config().model().name() << " with " << model_->num_parameters()
            << " parameters on " << backend_->name() << ", "
            << data_.train->size() << " examples, " << total_iterations_
            << " iterations";
  TrainingResult result;
  result.weights.resize(model_->num_parameters());
  result.statistics.resize(model_->statistics_values().size());
  absl::Status status = JoinCluster();
  if (status.ok()) status = RunIterations();
  if (status.ok()) {
    status = backend_->CopyToHost(weights_, result.weights.data());
  }
  if (status.ok()) {
    status = backend_->CopyToHost(model_->statistics_values(),
                                  result.statistics.data());
  }
  if (status.ok() && recorder_ != nullptr) {
    status = recorder_->WriteWeights(
        {&model_->parameters(), result.weights.data()},
        {&model_->statistics(), result.statistics.data()});
  }
  // What the servers themselves reported they need not hear again.
  const bool servers_know =
      absl::IsAborted(status) || absl::IsUnavailable(status);
  if (!status.ok()) {
    if (client_ != nullptr && !servers_know) {
      const absl::Status told = client_->Finish(status);
      if (!told.ok()) LOG(WARNING) << "the servers were not told: " << told;
    }
    return status;
  }
  PS_RETURN_IF_ERROR(Annotate(client_->Finish(absl::OkStatus()), "at the end"));
  if (recorder_ != nullptr) {
    PS_RETURN_IF_ERROR(recorder_->WriteSummary(totals_, evaluation_));
  }
  result.evaluation = evaluation_;
  result.totals = totals_;
  return result;
}

}  // namespace

absl::StatusOr<TrainingResult> Train(const TrainerOptions& options) {
  const int num_workers = options.config.cluster().num_workers();
  if (options.worker_rank < 0 || options.worker_rank >= num_workers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker rank is ", options.worker_rank, "; this job has ranks 0 to ",
        num_workers - 1, " (cluster.num_workers)"));
  }
  if (options.config.cluster().servers_size() !=
      options.config.cluster().num_servers()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cluster.servers has ", options.config.cluster().servers_size(),
        " addresses; a worker needs one for each of the ",
        options.config.cluster().num_servers(), " servers"));
  }
  return Trainer(options).Run();
}

}  // namespace ps
