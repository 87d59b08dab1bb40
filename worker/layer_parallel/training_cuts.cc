#include "worker/layer_parallel/training_cuts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "worker/layer_parallel/aux_network.h"

namespace ps {
namespace {

// At smaller extents blocks would lose too much.
constexpr int64_t kMinFilteredExtent = 16;
constexpr double kMebibyte = 1 << 20;

double SquaredNorm(const float* x, int64_t size) {
  double squares = 0;
  for (int64_t i = 0; i < size; ++i) squares += double{x[i]} * x[i];
  return squares;
}

int InnerSteps(const LayerParallelConfig& config) {
  if (config.inner_steps() > 0) return config.inner_steps();
  return config.method() == LayerParallelConfig::PENALTY ? 1 : 3;
}

// shape: of the activations of one example.
CutOptions CutOf(const LayerParallelConfig& config, const Shape& shape) {
  CutOptions cut;
  cut.filter.planes = shape[0];
  cut.filter.height = shape.size() > 1 ? shape[1] : 1;
  cut.filter.width = shape.size() > 1 ? shape[2] : 1;
  const int64_t extent = config.filter_extent();
  if (std::min(cut.filter.height, cut.filter.width) >= kMinFilteredExtent &&
      cut.filter.height % extent == 0 && cut.filter.width % extent == 0) {
    cut.filter.extent = extent;
  }
  cut.multipliers =
      config.method() == LayerParallelConfig::AUGMENTED_LAGRANGIAN;
  cut.wire = config.wire_format();
  return cut;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingCuts>> TrainingCuts::Create(
    const TrainingCutsOptions& options) {
  std::unique_ptr<TrainingCuts> cuts(new TrainingCuts(options));
  for (int k = 1; k < options.network->num_stages(); ++k) {
    PS_RETURN_IF_ERROR(cuts->Add(k));
  }
  cuts->batches_.resize(cuts->cuts_.size());
  return cuts;
}

TrainingCuts::TrainingCuts(const TrainingCutsOptions& options)
    : options_(options) {
  step_.penalty = config().penalty();
  step_.inner_steps = InnerSteps(config());
}

absl::Status TrainingCuts::Add(int number) {
  Cut cut;
  cut.options = CutOf(config(), options_.network->start_shape(number));
  PS_ASSIGN_OR_RETURN(cut.variables, NewVariables(cut.options, number));
  step_.cuts.push_back(cut.options);
  cuts_.push_back(std::move(cut));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CutVariables>> TrainingCuts::NewVariables(
    const CutOptions& cut, int number) const {
  if (!config().has_aux_network()) {
    PS_RETURN_IF_ERROR(CheckMemory(cut));
    return NewStoredVariables(cut, options_.num_examples);
  }
  const Stage& stage = (*options_.stages)[number];
  AuxNetworkOptions network;
  network.cut = cut;
  network.example = options_.example;
  network.batch_size = batch_size();
  network.learning_rate = config().aux_network().learning_rate();
  network.seed = options_.seed;
  network.number = number;
  network.stage_weights = stage.end - stage.begin;
  network.stage_multiplications = stage.multiplications;
  network.backend = options_.backend;
  network.times = options_.times;
  return NewAuxNetwork(network);
}

absl::Status TrainingCuts::CheckMemory(const CutOptions& cut) const {
  int64_t bytes = StoredBytes(cut, options_.num_examples);
  for (const Cut& other : cuts_) {
    bytes += StoredBytes(other.options, options_.num_examples);
  }
  const double megabytes = static_cast<double>(bytes) / kMebibyte;
  if (megabytes <= config().memory_limit_megabytes()) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the auxiliary variables of the first ", size() + 1, " of ",
      config().stages() - 1, " cuts take ", megabytes,
      " MiB; training.layer_parallel.memory_limit_megabytes is ",
      config().memory_limit_megabytes(),
      ": raise it, cut where activations are smaller, set filter_extent, or "
      "use aux_network"));
}

absl::Status TrainingCuts::Record(const Examples& examples, int64_t count) {
  Examples recorded = examples;
  recorded.numbers = examples.numbers.subspan(0, count);
  std::vector<float> activations;
  std::vector<float> gradient;
  for (int k = 1; k <= size(); ++k) {
    const float* const end = options_.network->stage(k - 1).end();
    const float* const start_gradient =
        options_.network->stage(k).start_gradient();
    BlockFilter filter = cuts_[k - 1].options.filter;
    if (step_.penalty == 0) {
      TakeRatios(filter.full_size(), count, end, start_gradient);
    }
    filter.planes *= batch_size();
    activations.resize(filter.filtered_size());
    gradient.resize(filter.filtered_size());
    filter.Mean(end, activations.data());
    filter.Mean(start_gradient, gradient.data());
    // The network's is that of the mean loss.
    for (float& x : gradient) x *= static_cast<float>(batch_size());
    PS_RETURN_IF_ERROR(
        cuts_[k - 1].variables->Record(recorded, activations, gradient));
  }
  return absl::OkStatus();
}

void TrainingCuts::TakeRatios(int64_t size, int64_t count,
                              const float* activations, const float* gradient) {
  for (int64_t i = 0; i < count; ++i) {
    const double ratio = static_cast<double>(batch_size()) *
                         std::sqrt(SquaredNorm(gradient + i * size, size) /
                                   SquaredNorm(activations + i * size, size));
    // Not if the activations are all 0, or the weights have diverged.
    if (std::isfinite(ratio)) ratios_.push_back(static_cast<float>(ratio));
  }
}

std::vector<int64_t> TrainingCuts::Missing() const {
  // The same for all cuts.
  return cuts_.front().variables->Missing();
}

absl::Status TrainingCuts::BeginPhase(const Batch& batch,
                                      const Examples& examples,
                                      const StepVectors& vectors) {
  if (step_.penalty == 0) PS_RETURN_IF_ERROR(MeasurePenalty());
  double step = config().step_size();
  if (step == 0) {
    PS_ASSIGN_OR_RETURN(step, StableStepNow(batch, examples, vectors));
  }
  for (Cut& cut : cuts_) cut.guard = StepGuard();
  for (CutBatch& cut : batches_) cut.step_size = step;
  return absl::OkStatus();
}

absl::Status TrainingCuts::MeasurePenalty() {
  if (ratios_.empty()) {
    return absl::FailedPreconditionError(
        "no example has activations at a cut; training.layer_parallel.penalty "
        "must be set");
  }
  const auto middle = ratios_.begin() + ratios_.size() / 2;
  std::nth_element(ratios_.begin(), middle, ratios_.end());
  const double penalty = config().penalty_scale() * *middle;
  if (!std::isfinite(penalty) || penalty <= 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the median ratio of gradients and activations at the cuts is ",
        *middle, "; training.layer_parallel.penalty must be set"));
  }
  LOG(INFO) << "the penalty is " << penalty << ", " << config().penalty_scale()
            << " times the median of " << ratios_.size()
            << " ratios of gradients and activations";
  step_.penalty = penalty;
  ratios_ = {};
  return absl::OkStatus();
}

absl::StatusOr<double> TrainingCuts::StableStepNow(const Batch& batch,
                                                   const Examples& examples,
                                                   const StepVectors& vectors) {
  StagedNetwork& network = *options_.network;
  double largest = 0;
  std::vector<float> start;
  for (int k = 1; k <= size(); ++k) {
    CutBatch& cut = batches_[k - 1];
    PS_RETURN_IF_ERROR(cuts_[k - 1].variables->Fetch(examples, &cut));
    BlockFilter filter = cuts_[k - 1].options.filter;
    filter.planes *= batch_size();
    start.resize(filter.full_size());
    filter.Repeat(cut.variables.data(), start.data());
    PS_ASSIGN_OR_RETURN(
        const double value,
        LargestSingularValue(
            start.data(), network.StageValues(k, batch, vectors),
            network.StageGradient(k, vectors), &network.stage(k)));
    largest = std::max(largest, value);
  }
  const double step = StableStep(network.num_stages(), step_.penalty, largest);
  LOG(INFO) << "the step of auxiliary variables is " << step << ", "
            << step * step_.penalty
            << " of the inverse penalty; stages have singular values up to "
            << largest;
  return step;
}

absl::StatusOr<BatchResult> TrainingCuts::Step(const Batch& batch,
                                               const Examples& examples,
                                               const StepVectors& vectors,
                                               PhaseAccount* account) {
  const Clock& clock = *SteadyClock();
  // A stage's worker also owns the cut at its start.
  std::vector<absl::Duration> own_times(size() + 1);
  for (int i = 0; i < size(); ++i) {
    const absl::Time start = clock.Now();
    PS_RETURN_IF_ERROR(cuts_[i].variables->Fetch(examples, &batches_[i]));
    own_times[i + 1] = clock.Now() - start;
  }
  PS_ASSIGN_OR_RETURN(
      const ParallelStepResult result,
      ParallelStep(step_, batch, vectors, options_.network, &batches_));
  for (int i = 0; i < size(); ++i) {
    const absl::Time start = clock.Now();
    PS_RETURN_IF_ERROR(Store(examples, i));
    own_times[i + 1] += clock.Now() - start;
    account->AddMismatch(batches_[i].mismatch);
    // An end goes one way, and a target the other.
    account->AddBytes(2 * step_.inner_steps *
                      static_cast<int64_t>(batches_[i].variables.size()) *
                      WireBytes(cuts_[i].options.wire));
  }
  for (int k = 0; k <= size(); ++k) own_times[k] += result.stage_times[k];
  account->AddParallel(own_times);
  return result.batch;
}

absl::Status TrainingCuts::Store(const Examples& examples, int number) {
  CutBatch& cut = batches_[number];
  PS_RETURN_IF_ERROR(cuts_[number].variables->Store(examples, cut));
  if (!cuts_[number].guard.Grows(cut.mismatch)) return absl::OkStatus();
  cut.step_size /= 2;
  LOG(WARNING) << "the mismatch at the cut before "
               << (*options_.stages)[number + 1].name
               << " has grown three times in a row, to " << cut.mismatch
               << "; its step is now " << cut.step_size;
  return absl::OkStatus();
}

void TrainingCuts::Save(StateWriter* state) const {
  state->PutDouble(step_.penalty);
  state->PutInt(static_cast<int64_t>(ratios_.size()));
  state->PutFloats(ratios_);
  for (int i = 0; i < size(); ++i) {
    state->PutDouble(batches_[i].step_size);
    state->PutDouble(cuts_[i].guard.latest);
    state->PutInt(cuts_[i].guard.growths);
    cuts_[i].variables->Save(state);
  }
}

absl::Status TrainingCuts::Load(StateReader* state) {
  PS_ASSIGN_OR_RETURN(step_.penalty, state->GetDouble());
  PS_ASSIGN_OR_RETURN(const int64_t num_ratios, state->GetInt());
  if (num_ratios < 0 || num_ratios > options_.num_examples * size()) {
    return absl::DataLossError(
        absl::StrCat("a snapshot with ", num_ratios, " ratios of ",
                     options_.num_examples, " examples"));
  }
  ratios_.resize(num_ratios);
  PS_RETURN_IF_ERROR(state->GetFloats(absl::MakeSpan(ratios_)));
  for (int i = 0; i < size(); ++i) {
    PS_ASSIGN_OR_RETURN(batches_[i].step_size, state->GetDouble());
    PS_ASSIGN_OR_RETURN(cuts_[i].guard.latest, state->GetDouble());
    PS_ASSIGN_OR_RETURN(cuts_[i].guard.growths, state->GetInt());
    PS_RETURN_IF_ERROR(cuts_[i].variables->Load(state));
  }
  return absl::OkStatus();
}

}  // namespace ps
