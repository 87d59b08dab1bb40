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

// In smaller images blocks would lose too much.
constexpr int64_t kMinFilteredExtent = 16;
constexpr double kMebibyte = 1 << 20;

double SquaredNorm(const float* x, int64_t size) {
  double squares = 0;
  for (int64_t i = 0; i < size; ++i) squares += double{x[i]} * x[i];
  return squares;
}

bool AllFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

bool IsFinite(const CutBatch& cut) {
  return std::isfinite(cut.mismatch) && AllFinite(cut.variables) &&
         AllFinite(cut.multipliers);
}

int InnerSteps(const LayerParallelConfig& config) {
  if (config.inner_steps() > 0) return config.inner_steps();
  return config.method() == LayerParallelConfig::PENALTY ? 1 : 3;
}

// Returns a cut's options. shape: of the activations of one example.
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
  const StagedNetwork& network = *options.network;
  for (int k = 1; k < network.num_stages(); ++k) {
    cuts->step_.cuts.push_back(CutOf(*options.config, network.start_shape(k)));
  }
  for (int k = std::max(1, network.first()); k <= network.last(); ++k) {
    PS_RETURN_IF_ERROR(cuts->Add(k));
  }
  cuts->batches_.resize(cuts->cuts_.size());
  return cuts;
}

TrainingCuts::TrainingCuts(const TrainingCutsOptions& options)
    : options_(options) {
  step_.penalty = config().penalty();
  step_.inner_steps = InnerSteps(config());
  if (!config().has_aux_network()) recorded_.resize(options.num_examples);
}

absl::Status TrainingCuts::Add(int number) {
  Cut cut;
  cut.number = number;
  cut.options = step_.cuts[number - 1];
  PS_ASSIGN_OR_RETURN(cut.variables, NewVariables(cut.options, number));
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
      "the auxiliary variables of ", size() + 1, " of ", config().stages() - 1,
      " cuts take ", megabytes,
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
  for (const int64_t number : recorded.numbers) {
    if (!recorded_.empty()) recorded_[number] = 1;
  }
  for (Cut& cut : cuts_) {
    const float* const start = options_.network->start(cut.number);
    const float* const start_gradient =
        options_.network->stage(cut.number).start_gradient();
    BlockFilter filter = cut.options.filter;
    if (step_.penalty == 0) {
      TakeRatios(filter.full_size(), count, start, start_gradient);
    }
    filter.planes *= batch_size();
    activations.resize(filter.filtered_size());
    gradient.resize(filter.filtered_size());
    filter.Mean(start, activations.data());
    filter.Mean(start_gradient, gradient.data());
    // The network's gradient is that of the mean loss.
    for (float& x : gradient) x *= static_cast<float>(batch_size());
    PS_RETURN_IF_ERROR(cut.variables->Record(recorded, activations, gradient));
  }
  return absl::OkStatus();
}

void TrainingCuts::TakeRatios(int64_t size, int64_t count,
                              const float* activations, const float* gradient) {
  for (int64_t i = 0; i < count; ++i) {
    const double ratio = static_cast<double>(batch_size()) *
                         std::sqrt(SquaredNorm(gradient + i * size, size) /
                                   SquaredNorm(activations + i * size, size));
    // The ratio is infinite or NaN if activations are 0 or weights diverged.
    if (std::isfinite(ratio)) ratios_.push_back(static_cast<float>(ratio));
  }
}

std::vector<int64_t> TrainingCuts::Missing() const {
  std::vector<int64_t> missing;
  for (size_t i = 0; i < recorded_.size(); ++i) {
    if (recorded_[i] == 0) missing.push_back(static_cast<int64_t>(i));
  }
  return missing;
}

absl::StatusOr<std::vector<float>> TrainingCuts::OfAllWorkers(
    std::vector<float> own, int64_t most) const {
  StageLinks* const links = options_.network->links();
  if (links == nullptr) return own;
  return links->Gather(own, most);
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
  PS_ASSIGN_OR_RETURN(ratios_,
                      OfAllWorkers(std::move(ratios_), options_.num_examples));
  // NaN cannot be sorted.
  for (const float ratio : ratios_) {
    if (std::isfinite(ratio)) continue;
    return absl::DataLossError(absl::StrCat(
        "a worker's ratio of gradients and activations is ", ratio));
  }
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
  std::vector<float> values;
  std::vector<float> start;
  for (size_t i = 0; i < size(); ++i) {
    const int k = cuts_[i].number;
    PS_RETURN_IF_ERROR(cuts_[i].variables->Fetch(examples, &batches_[i]));
    BlockFilter filter = cuts_[i].options.filter;
    filter.planes *= batch_size();
    start.resize(filter.full_size());
    filter.Repeat(batches_[i].variables.data(), start.data());
    PS_ASSIGN_OR_RETURN(
        const double value,
        LargestSingularValue(
            start.data(), network.StageValues(k, batch, vectors),
            network.StageGradient(k, vectors), &network.stage(k)));
    values.push_back(static_cast<float>(value));
  }
  PS_ASSIGN_OR_RETURN(values, OfAllWorkers(std::move(values), /*most=*/1));
  double largest = 0;
  for (const float value : values) largest = std::max<double>(largest, value);
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
  const int first = options_.network->first();
  std::vector<absl::Duration> own_times(options_.network->last() - first + 1);
  for (size_t i = 0; i < size(); ++i) {
    const absl::Time start = clock.Now();
    PS_RETURN_IF_ERROR(cuts_[i].variables->Fetch(examples, &batches_[i]));
    own_times[cuts_[i].number - first] = clock.Now() - start;
  }
  PS_ASSIGN_OR_RETURN(
      const ParallelStepResult result,
      ParallelStep(step_, batch, vectors, options_.network, &batches_));
  for (size_t i = 0; i < size(); ++i) {
    const absl::Time start = clock.Now();
    // A dropped iteration (training.non_finite) changes no variables.
    if (IsFinite(batches_[i])) {
      PS_RETURN_IF_ERROR(Store(examples, i));
      account->AddMismatch(batches_[i].mismatch);
    }
    own_times[cuts_[i].number - first] += clock.Now() - start;
    if (options_.network->links() != nullptr) continue;
    // An end would go one way, and a target the other.
    account->AddBytes(2 * step_.inner_steps *
                      static_cast<int64_t>(batches_[i].variables.size()) *
                      WireBytes(cuts_[i].options.wire));
  }
  for (size_t i = 0; i < own_times.size(); ++i) {
    own_times[i] += result.stage_times[i];
  }
  account->AddParallel(own_times);
  return result.batch;
}

absl::Status TrainingCuts::Store(const Examples& examples, size_t i) {
  CutBatch& cut = batches_[i];
  PS_RETURN_IF_ERROR(cuts_[i].variables->Store(examples, cut));
  StepGuard& guard = cuts_[i].guard;
  if (!guard.Grows(cut.mismatch, options_.num_examples / batch_size())) {
    return absl::OkStatus();
  }
  cut.step_size /= 2;
  LOG(WARNING) << "the mismatch at the cut before "
               << (*options_.stages)[cuts_[i].number].name
               << " has more than doubled in an epoch, to " << guard.latest
               << " in the mean; its step is now " << cut.step_size;
  return absl::OkStatus();
}

void TrainingCuts::Save(StateWriter* state) const {
  state->PutDouble(step_.penalty);
  state->PutInt(static_cast<int64_t>(ratios_.size()));
  state->PutFloats(ratios_);
  state->PutBytes({recorded_.data(), recorded_.size()});
  for (size_t i = 0; i < size(); ++i) {
    state->PutDouble(batches_[i].step_size);
    state->PutDouble(cuts_[i].guard.latest);
    state->PutDouble(cuts_[i].guard.sum);
    state->PutInt(cuts_[i].guard.batches);
    cuts_[i].variables->Save(state);
  }
}

absl::Status TrainingCuts::Load(StateReader* state) {
  PS_ASSIGN_OR_RETURN(step_.penalty, state->GetDouble());
  PS_ASSIGN_OR_RETURN(const int64_t num_ratios, state->GetInt());
  if (num_ratios < 0 ||
      num_ratios > options_.num_examples * static_cast<int64_t>(size())) {
    return absl::DataLossError(
        absl::StrCat("a snapshot with ", num_ratios, " ratios of ",
                     options_.num_examples, " examples"));
  }
  ratios_.resize(num_ratios);
  PS_RETURN_IF_ERROR(state->GetFloats(absl::MakeSpan(ratios_)));
  PS_ASSIGN_OR_RETURN(const absl::string_view recorded, state->GetBytes());
  if (recorded.size() != recorded_.size()) {
    return absl::DataLossError(absl::StrCat(
        "a snapshot with the auxiliary variables of ", recorded.size(),
        " examples; this training keeps those of ", recorded_.size()));
  }
  std::copy(recorded.begin(), recorded.end(), recorded_.begin());
  for (size_t i = 0; i < size(); ++i) {
    PS_ASSIGN_OR_RETURN(batches_[i].step_size, state->GetDouble());
    PS_ASSIGN_OR_RETURN(cuts_[i].guard.latest, state->GetDouble());
    PS_ASSIGN_OR_RETURN(cuts_[i].guard.sum, state->GetDouble());
    PS_ASSIGN_OR_RETURN(cuts_[i].guard.batches, state->GetInt());
    PS_RETURN_IF_ERROR(cuts_[i].variables->Load(state));
  }
  return absl::OkStatus();
}

}  // namespace ps
