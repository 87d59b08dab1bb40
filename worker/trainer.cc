#include "worker/trainer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/batch.h"
#include "common/clock.h"
#include "common/consistency.h"
#include "common/counted.h"
#include "common/data_description.h"
#include "common/machine_limits.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "models/described/weight_uses.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "worker/batch_feed.h"
#include "worker/bucket_plan.h"
#include "worker/early_stopping.h"
#include "worker/gradient_pipeline.h"
#include "worker/initial_weights.h"
#include "worker/iteration_trace.h"
#include "worker/join_cluster.h"
#include "worker/records/training_observer.h"
#include "worker/server_state.h"
#include "worker/trace_recorder.h"
#include "worker/training_parts.h"
#include "worker/training_records.h"
#include "worker/worker_context.h"
#include "worker/worker_snapshots.h"
#include "worker/worker_weights.h"

namespace ps {
namespace {

class Trainer {
 public:
  explicit Trainer(const TrainerOptions& options)
      : options_(options),
        early_stopping_(options.config.training().early_stopping()) {}

  absl::StatusOr<TrainingResult> Run();

 private:
  absl::Status AllocateVectors();
  // The function for ProcessSnapshotsOptions.
  std::function<void(absl::Duration, const absl::Status&)> SnapshotWritten()
      const;
  absl::Status StartExchange();
  // Limits the worker to its share of the processors on its machine.
  absl::Status ShareCores();
  // Joins a running job.
  absl::Status Join(int64_t joins_at);
  absl::Status GiveInitialWeights(const std::vector<Bucket>& buckets);
  absl::Status StartRecords();
  absl::Status PrepareTrace();
  absl::Status RunIterations();
  // Runs all iterations of one push; returns the number of the next push.
  absl::StatusOr<int64_t> RunPush(int64_t push);
  absl::StatusOr<Batch*> ReadBatch(int64_t iteration);
  // Uploads the next batch while the device computes this one's gradient.
  absl::Status UploadNext();
  // StepLocally runs an iteration without a push, StepWithPush one with a push.
  absl::Status StepLocally(int64_t iteration);
  absl::StatusOr<ExchangeStats> StepWithPush(int64_t iteration, int64_t push);
  // Forward and backward pass; sends each bucket when it is complete. `steps`
  // is the number of iterations of this push.
  absl::StatusOr<BatchResult> ComputeAndSend(const Batch& batch, double steps);
  absl::Status EvaluateNow(int64_t number);
  // Does worker 0's part of an evaluation.
  absl::Status EvaluateAlone();
  // Agrees with all workers on whether training ends with the evaluation of
  // this number.
  absl::Status AgreeToEnd(int64_t number);
  // Saves a snapshot if one is due between push number `done` and `push`, the
  // next one, and returns an error if the job stops here.
  absl::Status SaveIfDue(int64_t done, int64_t push);
  // Tells the servers, once, if this worker is asked to end.
  absl::Status PassOnStop();
  bool StopsEarly() const {
    return config().training().early_stopping().patience() > 0;
  }
  const JobConfig& config() const { return options_.config; }

  const TrainerOptions options_;
  TrainingParts parts_;
  Backend* backend_ = nullptr;  // Owned by parts_.
  Model* model_ = nullptr;      // Owned by parts_.
  // The weights that servers sent, [num_parameters]. They are evaluated, saved,
  // and the same for all workers, or nearly so.
  Tensor from_servers_;
  Tensor gradient_;                     // [num_parameters]
  std::unique_ptr<WorkerWeights> own_;  // In delta mode; else null.

  ClusterLink link_;
  std::unique_ptr<GradientPipeline> pipeline_;
  std::unique_ptr<ServerState> servers_;
  std::unique_ptr<WorkerSnapshots> snapshots_;
  ResumePoint resumed_;  // All 0 in a new job.
  bool stop_ = false;    // Whether the answers to the last push said so.

  std::unique_ptr<TrainingRecords> records_;
  std::unique_ptr<IterationTrace> trace_;
  std::unique_ptr<BatchFeed> feed_;
  double loss_ = 0;          // The sum over this push's earlier iterations.
  int64_t num_samples_ = 0;  // The number of samples since the last push.
  std::unique_ptr<RunTotalsCounter> totals_;
  Evaluation evaluation_;
  EarlyStopping early_stopping_;
  bool wants_to_end_ = false;   // Worker 0's vote.
  bool stopped_early_ = false;  // Whether all workers must end.
};

absl::Status Trainer::AllocateVectors() {
  const int64_t n = model_->num_parameters();
  PS_ASSIGN_OR_RETURN(from_servers_, backend_->Allocate({n}));
  PS_ASSIGN_OR_RETURN(gradient_, backend_->Allocate({n}));
  if (const auto first = std::move(parts_.initial_weights); !first.empty()) {
    PS_RETURN_IF_ERROR(backend_->CopyFromHost(first.data(), &from_servers_));
  }
  if (!config().has_worker_optimizer()) return absl::OkStatus();
  WorkerWeightsOptions own;
  own.config = &options_.config;
  own.num_parameters = n;
  own.rates = RateStretches(model_->parameters(), parts_.rates);
  own.total_iterations = parts_.plan->total_iterations;
  own.backend = backend_;
  PS_ASSIGN_OR_RETURN(own_, WorkerWeights::Create(own));
  // No step has a residual yet.
  return own_->Follow(0, from_servers_, gradient_);
}

std::function<void(absl::Duration, const absl::Status&)>
Trainer::SnapshotWritten() const {
  if (options_.observers.empty()) return nullptr;
  return [observers = options_.observers](absl::Duration took,
                                          const absl::Status& result) {
    for (TrainingObserver* const observer : observers) {
      observer->SnapshotWritten(took, result);
    }
  };
}

absl::Status Trainer::StartExchange() {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<ProcessSnapshots> files,
                      WorkerSnapshots::OpenFiles(config(), options_.worker_rank,
                                                 parts_.data.description.text(),
                                                 SnapshotWritten()));
  JoinClusterOptions join;
  join.config = &options_.config;
  join.worker_rank = options_.worker_rank;
  join.incarnation = options_.incarnation;
  join.name = options_.name;
  join.data_text = parts_.data.description.text();
  join.parameters = model_->parameters();
  // With a worker_optimizer, pushes are steps at these rates already.
  if (own_ == nullptr) join.rates = parts_.rates;
  join.buckets = parts_.buckets;
  const int64_t num_statistics = model_->statistics_values().size();
  join.averaged = AveragedBuckets(config().training(), num_statistics);
  join.num_pushes = parts_.plan->pushes.num_pushes();
  const bool was_done = files != nullptr && files->done();
  join.was_done = was_done;
  absl::StatusOr<ClusterLink> link = JoinCluster(join);
  if (was_done && absl::IsDeadlineExceeded(link.status())) {
    return absl::CancelledError(
        absl::StrCat("the job is done already (", files->folder(),
                     "/done), and its servers are gone"));
  }
  PS_ASSIGN_OR_RETURN(link_, std::move(link));
  // A process of this worker was done, and then the job went back.
  if (was_done) PS_RETURN_IF_ERROR(files->ForgetDone());
  if (parts_.stage_links != nullptr) {
    parts_.stage_links->Connect(link_.client->stage_exchange());
  }
  if (options_.joined != nullptr) options_.joined();
  PS_RETURN_IF_ERROR(ShareCores());

  WorkerContext context;
  context.config = &options_.config;
  context.worker_rank = options_.worker_rank;
  context.buckets = join.buckets;
  context.shard_map = link_.shard_map.get();
  context.backend = backend_;
  context.client = link_.client.get();
  context.own_weights = own_.get();

  GradientPipelineOptions pipeline;
  pipeline.parameters = join.parameters;
  PS_ASSIGN_OR_RETURN(pipeline.uses,
                      WeightUses(*model_, parts_.data.train->example_shape()));
  pipeline.overlap =
      options_.overlap_compression.value_or(backend_->overlaps_compression());
  PS_ASSIGN_OR_RETURN(pipeline_, GradientPipeline::Create(context, pipeline));
  std::vector<int64_t> begins;
  for (const Bucket& bucket : context.buckets) begins.push_back(bucket.begin);
  model_->ReportGradientFrom(begins);

  servers_ = std::make_unique<ServerState>(context, num_statistics);

  WorkerSnapshotsOptions snapshots;
  snapshots.model = model_;
  snapshots.pipeline = pipeline_.get();
  snapshots.totals = totals_.get();
  snapshots.from_servers = &from_servers_;
  snapshots.set = parts_.set;
  snapshots.data = MeaningOfNumbers(parts_.data.description.text());
  snapshots_ =
      std::make_unique<WorkerSnapshots>(context, snapshots, std::move(files));
  if (const auto joins_at = link_.client->JoinsAt()) return Join(*joins_at);
  PS_ASSIGN_OR_RETURN(const int64_t found, snapshots_->Find());

  // Only rank 0 sets the weights; all workers, rank 0 included, start with
  // those of the servers.
  if (options_.worker_rank == 0 && found == 0) {
    PS_RETURN_IF_ERROR(GiveInitialWeights(join.buckets));
  }
  // In asynchronous modes, workers have made more pushes, or some were dropped.
  const int64_t pushes = WorkersDrift(config()) ? 0 : found;
  PS_RETURN_IF_ERROR(
      servers_->Pull(pushes, parts_.plan->pushes.NumEvaluations(pushes),
                     &from_servers_, &model_->statistics_values()));
  if (found > 0) {
    PS_ASSIGN_OR_RETURN(resumed_, snapshots_->Load());
    early_stopping_.GoOnFrom(resumed_.early_stopping);
  } else if (own_ != nullptr) {
    PS_RETURN_IF_ERROR(pipeline_->FollowServers(from_servers_));
  }
  return absl::OkStatus();
}

absl::Status Trainer::ShareCores() {
  if (config().machine().worker_threads() > 0 || !backend_->uses_threads()) {
    return absl::OkStatus();
  }
  PS_ASSIGN_OR_RETURN(const int sharers,
                      link_.client->WorkersOnTheseCores(
                          /*await_all=*/!link_.client->JoinsAt().has_value()));
  const int threads = CoresOfEach(sharers);
  backend_->UseThreads(threads);
  LOG(INFO) << "worker " << options_.worker_rank << " uses "
            << Counted(threads, "thread") << ": " << Counted(sharers, "worker")
            << " on " << Counted(MachineCores(), "core")
            << " (machine.worker_threads)";
  return absl::OkStatus();
}

absl::Status Trainer::Join(int64_t joins_at) {
  const PushPlan& plan = parts_.plan->pushes;
  // The worker makes at least one push, so that it evaluates at the end.
  const int64_t push =
      std::max<int64_t>(0, std::min(joins_at, plan.num_pushes() - 1));
  const int64_t evaluations = plan.NumEvaluations(push);
  PS_RETURN_IF_ERROR(link_.client->Join(push, evaluations));
  PS_RETURN_IF_ERROR(servers_->Pull(push, evaluations, &from_servers_,
                                    &model_->statistics_values()));
  PS_ASSIGN_OR_RETURN(resumed_, snapshots_->Join(push));
  totals_->GoOnAt(plan.Begin(push));
  return absl::OkStatus();
}

absl::Status Trainer::GiveInitialWeights(const std::vector<Bucket>& buckets) {
  PS_ASSIGN_OR_RETURN(const InitialWeights first,
                      MakeInitialWeights(config(), model_, backend_));
  std::vector<const float*> bucket_values;
  for (const Bucket& bucket : buckets) {
    bucket_values.push_back(first.weights.data() + bucket.begin);
  }
  if (!first.statistics.empty()) {
    bucket_values.push_back(first.statistics.data());
  }
  const float no_vote = 0;
  if (StopsEarly()) bucket_values.push_back(&no_vote);
  return link_.client->InitializeWeights(bucket_values);
}

absl::Status Trainer::StartRecords() {
  TrainingRecordsOptions records;
  records.config = &options_.config;
  records.worker_rank = options_.worker_rank;
  records.run_directory = options_.run_directory;
  records.tensorboard = options_.tensorboard;
  records.progress_interval = options_.progress_interval;
  records.observers = options_.observers;
  records.parts = &parts_;
  records.totals = totals_.get();
  records.pipeline = pipeline_.get();
  records.gradient = &gradient_;
  records.from_servers = &from_servers_;
  records.resumed = resumed_;
  PS_ASSIGN_OR_RETURN(records_, TrainingRecords::Create(records));
  return absl::OkStatus();
}

absl::Status Trainer::PrepareTrace() {
  IterationTraceOptions trace;
  trace.config = &config().training();
  trace.worker_rank = options_.worker_rank;
  trace.run_directory = options_.run_directory;
  trace.num_pushes = parts_.plan->pushes.num_pushes();
  trace.layers = &model_->layer_times();
  PS_ASSIGN_OR_RETURN(trace_, IterationTrace::Create(trace));
  return absl::OkStatus();
}

absl::Status Trainer::EvaluateNow(int64_t number) {
  PS_ASSIGN_OR_RETURN(
      const AveragingStats averaging,
      servers_->AverageStatistics(number, &model_->statistics_values()));
  totals_->AddAveraging(averaging);
  const bool last = number + 1 == parts_.plan->pushes.NumEvaluations(
                                      parts_.plan->pushes.num_pushes());
  if (last && WorkersDrift(config())) {
    // Other workers may be behind; the weights that are saved must include all
    // their pushes.
    PS_RETURN_IF_ERROR(servers_->Pull(parts_.plan->pushes.num_pushes(),
                                      number + 1, &from_servers_,
                                      &model_->statistics_values()));
  }
  // One worker is enough: all hold the same weights, or nearly the same.
  if (options_.worker_rank == 0) PS_RETURN_IF_ERROR(EvaluateAlone());
  return StopsEarly() && !last ? AgreeToEnd(number) : absl::OkStatus();
}

absl::Status Trainer::EvaluateAlone() {
  PS_ASSIGN_OR_RETURN(evaluation_,
                      Evaluate(*parts_.data.test, from_servers_, model_));
  wants_to_end_ = early_stopping_.Evaluated(Score(evaluation_));
  return records_->Evaluated(evaluation_);
}

absl::Status Trainer::AgreeToEnd(int64_t number) {
  AveragingStats averaging;
  PS_ASSIGN_OR_RETURN(stopped_early_,
                      servers_->AgreeToEnd(number, wants_to_end_, &averaging));
  totals_->AddAveraging(averaging);
  return absl::OkStatus();
}

absl::StatusOr<Batch*> Trainer::ReadBatch(int64_t iteration) {
  const TraceSpan span(trace_->recorder(), TraceRecorder::Row::kTrainer,
                       "read batch");
  absl::StatusOr<Batch*> batch = feed_->At(iteration);
  if (!absl::IsDataLoss(batch.status())) return batch;
  return absl::DataLossError(absl::StrCat(
      batch.status().message(),
      " (`gradsieve train JOB --check=all` finds all such "
      "examples, and data.on_bad_example: SKIP passes over them)"));
}

absl::Status Trainer::UploadNext() {
  // Otherwise the gradient is complete, and reading would only delay the push.
  if (!backend_->overlaps_compression()) return absl::OkStatus();
  const absl::StatusOr<Batch*> next = feed_->Peek();
  // The next iteration reports the error.
  if (!next.ok() || *next == nullptr) return absl::OkStatus();
  return model_->Upload(*next);
}

absl::Status Trainer::StepLocally(int64_t iteration) {
  PS_ASSIGN_OR_RETURN(Batch* const batch, ReadBatch(iteration));
  absl::StatusOr<BatchResult> result;
  {
    const TraceSpan span(trace_->recorder(), TraceRecorder::Row::kTrainer,
                         "forward and backward");
    PS_ASSIGN_OR_RETURN(result, model_->ForwardBackward(*batch, own_->values(),
                                                        &gradient_, nullptr));
  }
  PS_RETURN_IF_ERROR(UploadNext());
  loss_ += result->loss;
  num_samples_ += result->examples;
  own_->Begin(iteration);
  return pipeline_->StepLocally(&gradient_);
}

absl::StatusOr<BatchResult> Trainer::ComputeAndSend(const Batch& batch,
                                                    double steps) {
  TraceRecorder* const trace = trace_->recorder();
  const TraceSpan span(trace, TraceRecorder::Row::kTrainer,
                       "forward and backward");
  return model_->ForwardBackward(
      batch, own_ == nullptr ? from_servers_ : own_->values(), &gradient_,
      [&](const BatchResult& forward, int64_t begin,
          int64_t end) -> absl::Status {
        if (trace != nullptr) {
          trace->Instant(TraceRecorder::Row::kTrainer, "gradient ready",
                         SteadyClock()->Now(),
                         {{"begin", begin}, {"end", end}});
        }
        return pipeline_->Ready((loss_ + forward.loss) / steps, begin);
      });
}

absl::StatusOr<ExchangeStats> Trainer::StepWithPush(int64_t iteration,
                                                    int64_t push) {
  PS_ASSIGN_OR_RETURN(Batch* const batch, ReadBatch(iteration));
  pipeline_->Trace(trace_->recorder());
  pipeline_->Begin(push, gradient_, from_servers_);
  if (own_ != nullptr) own_->Begin(iteration);
  PS_ASSIGN_OR_RETURN(
      const BatchResult result,
      ComputeAndSend(*batch,
                     static_cast<double>(parts_.plan->pushes.End(push) -
                                         parts_.plan->pushes.Begin(push))));
  num_samples_ += result.examples;
  PS_RETURN_IF_ERROR(UploadNext());
  PS_ASSIGN_OR_RETURN(ExchangeStats stats, pipeline_->Await());
  if (stats.next_push > push + 1) {
    PS_ASSIGN_OR_RETURN(stats.next_push,
                        servers_->CatchUp(stats.next_push, &from_servers_));
    if (own_ != nullptr) {
      PS_RETURN_IF_ERROR(pipeline_->FollowServers(from_servers_));
    }
  }
  return stats;
}

absl::StatusOr<int64_t> Trainer::RunPush(int64_t push) {
  const absl::Time start = SteadyClock()->Now();
  const int64_t last = parts_.plan->pushes.End(push) - 1;
  loss_ = 0;
  num_samples_ = 0;
  for (int64_t i = parts_.plan->pushes.Begin(push); i < last; ++i) {
    PS_RETURN_IF_ERROR(Annotate(StepLocally(i), absl::StrCat("iteration ", i)));
  }
  absl::StatusOr<ExchangeStats> stats = StepWithPush(last, push);
  PS_RETURN_IF_ERROR(
      Annotate(stats.status(), absl::StrCat("iteration ", last)));
  stop_ = stats->stop;
  MadePush outcome;
  outcome.stats = *std::move(stats);
  outcome.seconds = absl::ToDoubleSeconds(SteadyClock()->Now() - start);
  outcome.num_iterations = last + 1 - parts_.plan->pushes.Begin(push);
  outcome.num_samples = num_samples_;
  outcome.iterations_done = parts_.plan->pushes.Begin(outcome.stats.next_push);
  pipeline_->IterationTook(outcome.seconds);
  trace_->End(push, outcome.stats);
  totals_->AddPush(outcome);
  PS_RETURN_IF_ERROR(records_->Push(outcome, push));
  return outcome.stats.next_push;
}

absl::Status Trainer::PassOnStop() {
  if (options_.asked_to_stop == nullptr || !options_.asked_to_stop()) {
    return absl::OkStatus();
  }
  // Before each push until all stop, as a killed server loses it.
  return link_.client->Stop();
}

absl::Status Trainer::SaveIfDue(int64_t done, int64_t push) {
  if (push == parts_.plan->pushes.num_pushes() || !KeepsSnapshots(config())) {
    return absl::OkStatus();
  }
  const int64_t every = config().checkpoint().every();
  const bool stop = stop_ && StopsTogether(config());
  if (!stop && push / every == done / every) return absl::OkStatus();
  ResumePoint point;
  point.push = push;
  point.metrics_bytes = records_->metrics_bytes();
  point.early_stopping = early_stopping_.state();
  PS_RETURN_IF_ERROR(
      snapshots_->Save(stop ? push : push / every * every, point));
  if (!stop) return absl::OkStatus();
  const bool saved = snapshots_->Flush().ok();
  const absl::Status ended =
      link_.client->Finish(absl::OkStatus(), /*stopped=*/true);
  if (!absl::IsUnavailable(ended)) PS_RETURN_IF_ERROR(ended);
  return absl::UnavailableError(
      absl::StrCat("asked to end after push ", push,
                   "; start all processes again and the job goes on from ",
                   saved ? "there" : "the snapshot before"));
}

absl::Status Trainer::RunIterations() {
  PS_RETURN_IF_ERROR(PrepareTrace());
  feed_ = std::make_unique<BatchFeed>(config(), options_.worker_rank, parts_,
                                      parts_.plan->pushes.Begin(resumed_.push));
  PS_RETURN_IF_ERROR(StartRecords());
  for (int64_t push = resumed_.push; push < parts_.plan->pushes.num_pushes();) {
    const int64_t before = push;
    const int64_t done = parts_.plan->pushes.NumEvaluations(push);
    PS_RETURN_IF_ERROR(PassOnStop());
    trace_->Begin(push);
    PS_ASSIGN_OR_RETURN(push, RunPush(push));
    PS_RETURN_IF_ERROR(trace_->Write());
    // If this worker skipped pushes and with them several evaluations, only the
    // last of these is made.
    const int64_t due = parts_.plan->pushes.NumEvaluations(push);
    if (due > done) PS_RETURN_IF_ERROR(EvaluateNow(due - 1));
    if (stopped_early_) break;
    PS_RETURN_IF_ERROR(SaveIfDue(before, push));
  }
  if (stopped_early_) {
    LOG(INFO) << "worker " << options_.worker_rank << " ends after "
              << totals_->totals().iterations << " iterations: the last "
              << config().training().early_stopping().patience()
              << " evaluations were no improvement "
                 "(training.early_stopping)";
  }
  trace_->Close();
  return records_->Close();
}

absl::StatusOr<TrainingResult> Trainer::Run() {
  PS_ASSIGN_OR_RETURN(parts_,
                      MakeTrainingParts(config(), options_.worker_rank));
  backend_ = parts_.backend.get();
  model_ = parts_.model.get();
  totals_ = std::make_unique<RunTotalsCounter>(config().cluster().num_workers(),
                                               NumTrained(parts_.buckets));
  PS_RETURN_IF_ERROR(AllocateVectors());
  LOG(INFO) << "worker " << options_.worker_rank << " of "
            << config().cluster().num_workers() << ": "
            << config().model().name() << " with " << ParametersText(parts_)
            << " on " << backend_->name() << ", "
            << Counted(parts_.data.train->size(), "example") << ", "
            << Counted(parts_.plan->total_iterations, "iteration");
  TrainingResult result;
  result.weights.resize(model_->num_parameters());
  result.statistics.resize(model_->statistics_values().size());
  absl::Status status = StartExchange();
  if (status.ok()) status = RunIterations();
  if (status.ok()) {
    status = backend_->CopyToHost(from_servers_, result.weights.data());
  }
  if (status.ok()) {
    status = backend_->CopyToHost(model_->statistics_values(),
                                  result.statistics.data());
  }
  if (status.ok()) {
    status = records_->WriteWeights(result.weights, result.statistics);
  }
  // All files are on disk before the servers hear that this worker is done.
  if (status.ok()) status = records_->WriteSummary(evaluation_, stopped_early_);
  if (status.ok()) {
    const absl::Status marked = snapshots_->MarkDone();
    LOG_IF(WARNING, !marked.ok())
        << marked << "; if this worker is started again after the servers are "
        << "gone, it will not know that the job is done";
  }
  // The servers need not be told their own reports.
  const bool servers_know =
      absl::IsAborted(status) || absl::IsUnavailable(status);
  if (!status.ok()) {
    if (pipeline_ != nullptr) pipeline_->Abandon();
    if (link_.client != nullptr && !servers_know) {
      const absl::Status told = link_.client->Finish(status);
      if (!told.ok()) LOG(WARNING) << "the servers were not told: " << told;
    }
    return status;
  }
  PS_RETURN_IF_ERROR(
      Annotate(link_.client->Finish(absl::OkStatus()), "at the end"));
  const RecordingCounts recordings = model_->recordings();
  if (recordings.recorded > 0 || recordings.failed > 0) {
    LOG(INFO) << "worker " << options_.worker_rank << " recorded "
              << recordings.recorded << " stretches of work as CUDA graphs; "
              << recordings.failed << " could not be recorded";
  }
  result.evaluation = evaluation_;
  result.totals = totals_->totals();
  return result;
}

}  // namespace

absl::StatusOr<TrainingResult> Train(const TrainerOptions& options) {
  PS_RETURN_IF_ERROR(CheckRank(options.config, options.worker_rank));
  return Trainer(options).Run();
}

}  // namespace ps
