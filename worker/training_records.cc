#include "worker/training_records.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/consistency.h"
#include "common/data_description.h"
#include "common/schedule.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "worker/bucket_plan.h"
#include "worker/records/traffic_advice.h"

namespace ps {
namespace {

// The interval of norms, each of which costs a pass over memory.
constexpr int64_t kNormsEvery = 10;
// Compressors have settled after this many pushes.
constexpr int64_t kPushesBeforeAdvice = 20;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

RunHeader HeaderOf(const JobConfig& config, const TrainingParts& parts) {
  RunHeader header = HeaderOf(config, parts.model->num_parameters());
  header.total_iterations = parts.plan->total_iterations;
  header.iterations_per_epoch = parts.plan->sampler.iterations_per_epoch();
  header.class_names = parts.data.train->class_names();
  header.data = MeaningOfNumbers(parts.data.description.text());
  return header;
}

// Adds advice when results cannot be written at the end. The code makes the
// exit code say that a restart may help, whatever the file system's is.
absl::Status Explained(const absl::Status& status, const JobConfig& config) {
  if (status.ok()) return status;
  return absl::InternalError(absl::StrCat(
      status.message(), ". Make room or mend it, and start the job again",
      KeepsSnapshots(config) ? ": it goes on from its latest snapshot" : ""));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingRecords>> TrainingRecords::Create(
    const TrainingRecordsOptions& options) {
  std::unique_ptr<TrainingRecords> records(new TrainingRecords(options));
  for (TrainingObserver* const observer : options.observers) {
    observer->Begins(HeaderOf(*options.config, *options.parts));
  }
  if (options.worker_rank == 0) {
    PS_RETURN_IF_ERROR(records->Open());
    PS_RETURN_IF_ERROR(records->OpenDump());
  }
  ProgressLogOptions progress;
  progress.interval = options.progress_interval;
  progress.first_iteration = records->plan().pushes.Begin(options.resumed.push);
  progress.total_iterations = records->plan().total_iterations;
  records->progress_ = std::make_unique<ProgressLog>(progress);
  return records;
}

absl::Status TrainingRecords::Open() {
  if (options_.run_directory.empty()) return absl::OkStatus();
  PS_ASSIGN_OR_RETURN(recorder_,
                      RunRecorder::Create(options_.run_directory,
                                          HeaderOf(config(), *options_.parts),
                                          options_.resumed.metrics_bytes));
  // The file is read rather than the snapshot, because it may be newer.
  if (config().checkpoint().keep_best() && options_.resumed.push > 0) {
    best_ = ReadBestEvaluation(
        absl::StrCat(options_.run_directory, "/", kBestWeights),
        options_.parts->data.test->example_shape().task);
  }
  if (!options_.tensorboard) return absl::OkStatus();
  TensorBoardOptions tensorboard;
  tensorboard.run_directory = options_.run_directory;
  tensorboard.first_step = totals().iterations + 1;
  tensorboard.buckets = options_.parts->buckets;
  tensorboard.backend = backend();
  PS_ASSIGN_OR_RETURN(tensorboard_, TensorBoard::Create(tensorboard));
  return absl::OkStatus();
}

absl::Status TrainingRecords::OpenDump() {
  GradientDumpOptions dump;
  dump.config = config().training().dump_gradients();
  if (dump.config.every() == 0) return absl::OkStatus();
  dump.run_directory = options_.run_directory;
  dump.num_parameters = model().num_parameters();
  dump.backend = backend();
  if (options_.resumed.push > 0) {
    LOG(WARNING) << "the dump of gradients begins anew with push "
                 << options_.resumed.push << " (training.dump_gradients)";
  }
  PS_ASSIGN_OR_RETURN(dump_, GradientDump::Create(dump));
  return absl::OkStatus();
}

absl::Status TrainingRecords::Push(const MadePush& outcome, int64_t push) {
  if (dump_ != nullptr) {
    PS_RETURN_IF_ERROR(dump_->Iteration(push, *options_.gradient));
  }
  if (options_.totals->num_pushes() == kPushesBeforeAdvice &&
      options_.worker_rank == 0) {
    const std::string advice = TrafficAdvice(config(), totals());
    if (!advice.empty()) LOG(WARNING) << advice;
  }
  PS_RETURN_IF_ERROR(AddIteration(outcome, push));
  const std::string line =
      progress_->Line(outcome.iterations_done, outcome.stats.mean_loss);
  LOG_IF(INFO, !line.empty()) << line;
  return absl::OkStatus();
}

absl::Status TrainingRecords::AddIteration(const MadePush& outcome,
                                           int64_t push) {
  const bool observed = !options_.observers.empty() || tensorboard_ != nullptr;
  if (recorder_ == nullptr && !observed) return absl::OkStatus();
  const int64_t elements =
      NumTrained(options_.parts->buckets) * config().cluster().num_workers();
  IterationRecord record = RecordOf(outcome, elements, totals());
  record.epoch = EpochsDone();
  record.learning_rate = LearningRateOf(push);
  if ((options_.totals->num_pushes() - 1) % kNormsEvery == 0) {
    PS_ASSIGN_OR_RETURN(record.residual_norm,
                        options_.pipeline->ResidualNorm());
    if (observed) {
      PS_ASSIGN_OR_RETURN(record.gradient_norm,
                          options_.pipeline->GradientNorm());
    }
  }
  if (recorder_ != nullptr) recorder_->Iteration(record);
  if (tensorboard_ != nullptr) tensorboard_->Iteration(record);
  for (TrainingObserver* const observer : options_.observers) {
    observer->Iteration(record);
  }
  return absl::OkStatus();
}

double TrainingRecords::LearningRateOf(int64_t push) const {
  const PushPlan& pushes = plan().pushes;
  return config().has_worker_optimizer()
             ? LearningRate(config().worker_optimizer(), config().schedule(),
                            plan().total_iterations, pushes.End(push) - 1)
             : ServersLearningRate(config(), pushes.num_pushes(), push);
}

double TrainingRecords::EpochsDone() const {
  return static_cast<double>(totals().iterations) /
         static_cast<double>(plan().sampler.iterations_per_epoch());
}

absl::Status TrainingRecords::Evaluated(const Evaluation& evaluation) {
  const std::vector<Metric> metrics = Metrics(evaluation);
  LOG(INFO) << "test " << DescribeMetrics(metrics)
            << absl::StrFormat(" after %.2f epochs", EpochsDone());
  for (TrainingObserver* const observer : options_.observers) {
    observer->Evaluated(metrics);
  }
  if (tensorboard_ != nullptr) {
    PS_RETURN_IF_ERROR(tensorboard_->Evaluated(metrics, *options_.gradient,
                                               options_.pipeline->residuals()));
  }
  if (recorder_ == nullptr) return absl::OkStatus();
  recorder_->Evaluated(totals().iterations, EpochsDone(), metrics);
  return KeepBest(evaluation);
}

absl::Status TrainingRecords::KeepBest(const Evaluation& evaluation) {
  if (!config().checkpoint().keep_best()) return absl::OkStatus();
  const double best_score = best_.has_value()
                                ? ScoreOf(evaluation.task, best_->metric.value)
                                : -kInfinity;
  if (!(Score(evaluation) > best_score)) return absl::OkStatus();
  BestEvaluation best;
  best.iteration = totals().iterations;
  best.metric = Metrics(evaluation).front();
  std::vector<float> weights(options_.from_servers->size());
  PS_RETURN_IF_ERROR(
      backend()->CopyToHost(*options_.from_servers, weights.data()));
  const Tensor& on_device = options_.parts->model->statistics_values();
  std::vector<float> statistics(on_device.size());
  PS_RETURN_IF_ERROR(backend()->CopyToHost(on_device, statistics.data()));
  const absl::Status written = recorder_->WriteBestWeights(
      {&model().parameters(), weights.data()},
      {&model().statistics(), statistics.data()}, best);
  if (written.ok()) {
    best_ = best;
  } else {
    LOG(ERROR) << written.message() << "; training goes on without these";
  }
  return absl::OkStatus();
}

absl::Status TrainingRecords::Close() {
  return dump_ == nullptr ? absl::OkStatus() : dump_->Close();
}

absl::Status TrainingRecords::WriteWeights(
    const std::vector<float>& weights, const std::vector<float>& statistics) {
  if (recorder_ == nullptr) return absl::OkStatus();
  return Explained(
      recorder_->WriteWeights({&model().parameters(), weights.data()},
                              {&model().statistics(), statistics.data()}),
      config());
}

absl::Status TrainingRecords::WriteSummary(const Evaluation& evaluation,
                                           bool stopped_early) {
  if (recorder_ == nullptr) return absl::OkStatus();
  RunSummary summary;
  summary.totals = totals();
  summary.metrics = Metrics(evaluation);
  summary.recordings = model().recordings();
  summary.traffic_advice = TrafficAdvice(config(), totals());
  summary.best = best_;
  summary.stopped_early = stopped_early;
  return Explained(recorder_->WriteSummary(summary), config());
}

}  // namespace ps
