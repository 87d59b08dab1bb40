#include "worker/layer_parallel/staged_model.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "compressors/state_io.h"
#include "data/sampler.h"
#include "glog/logging.h"
#include "worker/layer_parallel/network_cuts.h"
#include "worker/layer_parallel/phase_account.h"
#include "worker/layer_parallel/staged_network.h"
#include "worker/layer_parallel/training_cuts.h"

namespace ps {
namespace {

constexpr char kStateKind[] = "layer_parallel";

class StagedModel final : public Model {
 public:
  explicit StagedModel(StagedModelOptions options)
      : options_(std::move(options)),
        model_(std::move(options_.model)),
        sampler_(options_.plan->sampler) {}

  absl::Status Initialize();

  const std::vector<ParameterInfo>& parameters() const override {
    return model_->parameters();
  }
  int64_t num_parameters() const override { return model_->num_parameters(); }
  LayersConfig Describe() const override { return model_->Describe(); }
  void InitializeWeights(uint64_t seed, float* weights) const override {
    model_->InitializeWeights(seed, weights);
  }
  const std::vector<ParameterInfo>& statistics() const override {
    return model_->statistics();
  }
  Tensor& statistics_values() override { return model_->statistics_values(); }

  absl::StatusOr<BatchResult> ForwardBackward(
      const Batch& batch, const Tensor& weights, Tensor* gradient,
      const GradientReady& ready) override;

  absl::StatusOr<BatchResult> Evaluate(const Batch& batch,
                                       const Tensor& weights) override {
    return model_->Evaluate(batch, weights);
  }
  absl::StatusOr<BatchResult> Predict(const Batch& batch, const Tensor& weights,
                                      std::vector<float>* outputs) override {
    return model_->Predict(batch, weights, outputs);
  }

  absl::StatusOr<std::string> SaveState() const override;
  absl::Status LoadState(absl::string_view bytes) override;

  LayerTimes& layer_times() override { return model_->layer_times(); }
  int64_t activation_bytes() const override {
    return model_->activation_bytes() + network_->activation_bytes();
  }

 private:
  absl::Status CheckBatch(const Batch& batch, const Tensor& weights,
                          const Tensor& gradient) const;
  // Iterates in series. `vectors` have the model's statistics.
  absl::StatusOr<BatchResult> SerialIteration(const Batch& batch,
                                              const Examples& examples,
                                              const StepVectors& vectors,
                                              bool records);
  absl::StatusOr<BatchResult> ParallelIteration(const Batch& batch,
                                                const Examples& examples,
                                                StepVectors vectors,
                                                bool begins);
  absl::Status RecordMissing(const StepVectors& vectors);
  // Sends all workers the statistics of all stages, so that any of them can
  // evaluate.
  absl::Status ShareStatistics(float* values) const;
  // Scales for the mean of workers; see NewStagedModel.
  void MakeMeanOfWorkersRight(BatchResult* result, Tensor* gradient) const;
  absl::Time Now() const;
  void ResetAccount();
  void LogStages() const;
  void LogPhase(int64_t epoch);

  StagedModelOptions options_;
  const std::unique_ptr<Model> model_;
  Sampler sampler_;
  std::vector<Stage> stages_;
  std::unique_ptr<StagedNetwork> network_;
  std::unique_ptr<TrainingCuts> cuts_;
  std::vector<float> spare_statistics_;
  int64_t iteration_ = 0;
  PhaseAccount account_;  // The costs since the beginning of the phase.
};

absl::Status StagedModel::Initialize() {
  PS_ASSIGN_OR_RETURN(stages_,
                      CutNetwork(*model_, options_.example, options_.config));
  StagedNetwork::Options network;
  network.stages = &stages_;
  network.links = options_.links;
  network.example = options_.example;
  network.batch_size = options_.batch_size;
  network.backend = options_.backend;
  network.times = &model_->layer_times();
  PS_ASSIGN_OR_RETURN(network_, StagedNetwork::Create(network));
  TrainingCutsOptions cuts;
  cuts.config = &options_.config;
  cuts.stages = &stages_;
  cuts.network = network_.get();
  cuts.example = options_.example;
  cuts.seed = options_.seed;
  cuts.num_examples = options_.num_examples;
  cuts.backend = options_.backend;
  cuts.times = network.times;
  PS_ASSIGN_OR_RETURN(cuts_, TrainingCuts::Create(cuts));
  ResetAccount();
  LogStages();
  return absl::OkStatus();
}

void StagedModel::LogStages() const {
  std::vector<std::string> names;
  for (const Stage& stage : stages_) {
    names.push_back(absl::StrCat(stage.name.empty() ? "the input" : stage.name,
                                 " (", stage.end - stage.begin, " weights, ",
                                 stage.multiplications, " multiplications)"));
  }
  LOG(INFO) << "stages begin at " << absl::StrJoin(names, ", ");
}

absl::Status StagedModel::CheckBatch(const Batch& batch, const Tensor& weights,
                                     const Tensor& gradient) const {
  const int64_t inputs = options_.batch_size * options_.example.num_elements();
  if (batch.size() != options_.batch_size ||
      static_cast<int64_t>(batch.inputs.size()) != inputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a batch of ", batch.size(), " examples and ", batch.inputs.size(),
        " numbers; the stages take ", options_.batch_size, " and ", inputs));
  }
  if (weights.size() != num_parameters() ||
      gradient.size() != num_parameters()) {
    return absl::InvalidArgumentError(absl::StrCat(
        weights.size(), " weights and a gradient of ", gradient.size(),
        "; the model has ", num_parameters(), " parameters"));
  }
  if (iteration_ >= options_.plan->total_iterations) {
    return absl::FailedPreconditionError(
        absl::StrCat("all ", iteration_, " iterations have been made"));
  }
  return absl::OkStatus();
}

absl::StatusOr<BatchResult> StagedModel::ForwardBackward(
    const Batch& batch, const Tensor& weights, Tensor* gradient,
    const GradientReady& ready) {
  PS_RETURN_IF_ERROR(CheckBatch(batch, weights, *gradient));
  const PhasePlan& phases = *options_.phases;
  const int64_t per_epoch = sampler_.iterations_per_epoch();
  const int64_t epoch = iteration_ / per_epoch;
  Examples examples;
  examples.numbers = sampler_.Numbers(iteration_, /*rank=*/0);
  examples.batch = &batch;
  StepVectors vectors;
  vectors.weights = weights.data();
  vectors.statistics = statistics_values().data();
  vectors.gradient = gradient->data();
  BatchResult result;
  if (phases.parallel(epoch)) {
    const bool begins = phases.begins(epoch) && iteration_ % per_epoch == 0;
    PS_ASSIGN_OR_RETURN(result,
                        ParallelIteration(batch, examples, vectors, begins));
  } else {
    PS_ASSIGN_OR_RETURN(result, SerialIteration(batch, examples, vectors,
                                                phases.records(epoch)));
  }
  MakeMeanOfWorkersRight(&result, gradient);
  ++iteration_;
  if (iteration_ == options_.plan->total_iterations ||
      (iteration_ % per_epoch == 0 && phases.ends(epoch))) {
    LogPhase(epoch);
  }
  if (ready != nullptr) {
    PS_RETURN_IF_ERROR(ready(result, 0, num_parameters()));
  }
  return result;
}

absl::StatusOr<BatchResult> StagedModel::SerialIteration(
    const Batch& batch, const Examples& examples, const StepVectors& vectors,
    bool records) {
  const absl::Time start = Now();
  PS_ASSIGN_OR_RETURN(const BatchResult result,
                      network_->SerialStep(batch, vectors));
  if (records) PS_RETURN_IF_ERROR(cuts_->Record(examples, batch.size()));
  PS_RETURN_IF_ERROR(ShareStatistics(vectors.statistics));
  account_.AddSerial(Now() - start);
  return result;
}

absl::Status StagedModel::ShareStatistics(float* values) const {
  if (options_.links == nullptr) return absl::OkStatus();
  const Stage& own = stages_[network_->first()];
  const int64_t size = model_->statistics_values().size();
  PS_ASSIGN_OR_RETURN(
      const std::vector<float> all,
      options_.links->Gather(
          {values + own.statistics_begin, values + own.statistics_end}, size));
  if (static_cast<int64_t>(all.size()) != size) {
    return absl::DataLossError(
        absl::StrCat("the workers' stages have ", all.size(),
                     " statistics together; the model has ", size));
  }
  std::copy(all.begin(), all.end(), values);
  return absl::OkStatus();
}

void StagedModel::MakeMeanOfWorkersRight(BatchResult* result,
                                         Tensor* gradient) const {
  if (options_.links == nullptr) return;
  const int num_workers = options_.links->num_workers();
  const Stage& own = stages_[network_->first()];
  float* const values = gradient->data();
  std::fill(values, values + own.begin, 0.0f);
  std::fill(values + own.end, values + gradient->size(), 0.0f);
  for (int64_t i = own.begin; i < own.end; ++i) {
    values[i] *= static_cast<float>(num_workers);
  }
  result->loss *= num_workers;
  // The counts of all workers are added up.
  result->examples /= num_workers;
}

absl::StatusOr<BatchResult> StagedModel::ParallelIteration(
    const Batch& batch, const Examples& examples, StepVectors vectors,
    bool begins) {
  // The statistics of auxiliary variables are of no use in evaluations.
  spare_statistics_.assign(vectors.statistics,
                           vectors.statistics + statistics_values().size());
  vectors.statistics = spare_statistics_.data();
  if (begins) {
    const absl::Time start = Now();
    PS_RETURN_IF_ERROR(RecordMissing(vectors));
    PS_RETURN_IF_ERROR(cuts_->BeginPhase(batch, examples, vectors));
    account_.AddPreparation(Now() - start);
  }
  return cuts_->Step(batch, examples, vectors, &account_);
}

// Records the examples that did not fill a last batch.
absl::Status StagedModel::RecordMissing(const StepVectors& vectors) {
  const std::vector<int64_t> missing = cuts_->Missing();
  const auto batch_size = static_cast<size_t>(options_.batch_size);
  for (size_t first = 0; first < missing.size(); first += batch_size) {
    const size_t count = std::min(batch_size, missing.size() - first);
    std::vector<int64_t> numbers(missing.begin() + first,
                                 missing.begin() + first + count);
    // Other examples fill the batch, for its normalisation.
    for (int64_t i = 0; numbers.size() < batch_size; ++i) {
      numbers.push_back(i % options_.num_examples);
    }
    Batch batch;
    PS_RETURN_IF_ERROR(options_.plain->Read(numbers, /*epoch=*/0, &batch));
    Examples examples;
    examples.numbers = numbers;
    examples.batch = &batch;
    PS_RETURN_IF_ERROR(network_->SerialStep(batch, vectors).status());
    PS_RETURN_IF_ERROR(cuts_->Record(examples, static_cast<int64_t>(count)));
  }
  return absl::OkStatus();
}

// Returns the time without waiting for other workers.
absl::Time StagedModel::Now() const {
  const absl::Time now = SteadyClock()->Now();
  return options_.links == nullptr ? now : now - options_.links->waited();
}

void StagedModel::ResetAccount() {
  account_.Reset(network_->last() - network_->first() + 1,
                 options_.links == nullptr);
  if (options_.links == nullptr) return;
  account_.AddWaited(-options_.links->waited());
  account_.AddBytes(-options_.links->bytes());
}

void StagedModel::LogPhase(int64_t epoch) {
  if (options_.links != nullptr) {
    account_.AddWaited(options_.links->waited());
    account_.AddBytes(options_.links->bytes());
  }
  LOG(INFO) << (options_.phases->parallel(epoch) ? "parallel" : "serial")
            << " phase up to epoch " << epoch + 1 << ": "
            << account_.ToString();
  ResetAccount();
}

absl::StatusOr<std::string> StagedModel::SaveState() const {
  StateWriter state(kStateKind);
  state.PutInt(network_->first());
  state.PutInt(network_->last());
  state.PutInt(iteration_);
  cuts_->Save(&state);
  return std::move(state).Finish();
}

absl::Status StagedModel::LoadState(absl::string_view bytes) {
  PS_ASSIGN_OR_RETURN(StateReader state, StateReader::Open(kStateKind, bytes));
  PS_ASSIGN_OR_RETURN(const int64_t first, state.GetInt());
  PS_ASSIGN_OR_RETURN(const int64_t last, state.GetInt());
  if (first != network_->first() || last != network_->last()) {
    return absl::DataLossError(absl::StrCat(
        "a snapshot of a worker with stages ", first, " to ", last,
        "; this one has ", network_->first(), " to ", network_->last()));
  }
  PS_ASSIGN_OR_RETURN(iteration_, state.GetInt());
  if (iteration_ < 0) {
    return absl::DataLossError(
        absl::StrCat("a snapshot after ", iteration_, " iterations"));
  }
  PS_RETURN_IF_ERROR(cuts_->Load(&state));
  return state.Finish();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> NewStagedModel(
    StagedModelOptions options) {
  auto model = std::make_unique<StagedModel>(std::move(options));
  PS_RETURN_IF_ERROR(model->Initialize());
  return model;
}

}  // namespace ps
