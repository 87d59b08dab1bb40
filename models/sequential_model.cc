#include "models/sequential_model.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "models/layers/chain.h"
#include "models/layers/initializer.h"
#include "models/network_plan.h"
#include "models/plan_cache.h"

namespace ps {
namespace {

// The purpose separates the draws of initial weights from all others with the
// job's seed: "weights" in ASCII.
constexpr uint64_t kInitialWeightsKey = 0x77656967687473;

constexpr int64_t kMaxParameters = int64_t{1} << 32;

class SequentialModel final : public Model {
 public:
  static absl::StatusOr<std::unique_ptr<Model>> Create(
      const ModelOptions& options, std::vector<std::unique_ptr<Layer>> layers,
      std::unique_ptr<Loss> loss) {
    auto model = std::make_unique<SequentialModel>(options, std::move(loss));
    for (const std::unique_ptr<Layer>& layer : layers) {
      PS_RETURN_IF_ERROR(model->AddLayer(*layer));
    }
    if (model->num_parameters_ == 0) {
      return absl::InvalidArgumentError("the model has no parameters");
    }
    model->layers_ = PlaceLayers(std::move(layers));
    PS_ASSIGN_OR_RETURN(model->upload_, options.backend->NewInputUpload());
    PS_RETURN_IF_ERROR(model->InitializeStatistics());
    // Planning once checks whether the layers fit together.
    PS_RETURN_IF_ERROR(
        model->CreatePlan(1, model->TypicalSteps(), false).status());
    return model;
  }

  SequentialModel(const ModelOptions& options, std::unique_ptr<Loss> loss)
      : example_(options.example),
        backend_(options.backend),
        records_steps_(options.records_steps),
        loss_(std::move(loss)) {}

  const std::vector<ParameterInfo>& parameters() const override {
    return parameters_;
  }

  int64_t num_parameters() const override { return num_parameters_; }

  LayersConfig Describe() const override {
    LayersConfig config;
    for (const PlacedLayer& placed : layers_) {
      placed.layer->Describe(config.mutable_layer());
    }
    return config;
  }

  void InitializeWeights(uint64_t seed, float* weights) const override {
    for (size_t p = 0; p < parameters_.size(); ++p) {
      Initialize(initializers_[p], RandomKey(seed, kInitialWeightsKey, p),
                 NumElements(parameters_[p].shape),
                 weights + parameters_[p].offset);
    }
  }

  const std::vector<ParameterInfo>& statistics() const override {
    return statistics_;
  }

  Tensor& statistics_values() override { return statistics_values_; }

  absl::Status Upload(Batch* batch) override {
    const int64_t num_inputs = static_cast<int64_t>(batch->inputs.size());
    // The plan of this batch enlarges the upload if it is too small.
    if (upload_ == nullptr || num_inputs > upload_->capacity()) {
      return absl::OkStatus();
    }
    PS_RETURN_IF_ERROR(upload_->Send(batch->inputs.data(), num_inputs));
    sent_ = ++num_uploads_;
    batch->upload = sent_;
    return absl::OkStatus();
  }

  absl::StatusOr<BatchResult> ForwardBackward(
      const Batch& batch, const Tensor& weights, Tensor* gradient,
      const GradientReady& ready) override {
    PS_RETURN_IF_ERROR(CheckSize("weights", weights));
    PS_RETURN_IF_ERROR(CheckSize("gradient", *gradient));
    PS_ASSIGN_OR_RETURN(NetworkPlan* const plan,
                        PlanForBatch(batch, /*training=*/true));
    PS_ASSIGN_OR_RETURN(const BatchResult result,
                        plan->Forward(batch, TakeUpload(batch), weights.data(),
                                      statistics_values_.data()));
    PS_RETURN_IF_ERROR(plan->Backward(result, weights.data(), gradient->data(),
                                      borders_, ready));
    return result;
  }

  absl::StatusOr<BatchResult> Evaluate(const Batch& batch,
                                       const Tensor& weights) override {
    PS_RETURN_IF_ERROR(CheckSize("weights", weights));
    PS_ASSIGN_OR_RETURN(NetworkPlan* const plan,
                        PlanForBatch(batch, /*training=*/false));
    return plan->Forward(batch, TakeUpload(batch), weights.data(),
                         statistics_values_.data());
  }

  absl::StatusOr<BatchResult> Predict(const Batch& batch, const Tensor& weights,
                                      std::vector<float>* outputs) override {
    PS_ASSIGN_OR_RETURN(const BatchResult result, Evaluate(batch, weights));
    // Evaluate has created it, or used it.
    PS_ASSIGN_OR_RETURN(NetworkPlan* const plan,
                        PlanForBatch(batch, /*training=*/false));
    PS_RETURN_IF_ERROR(plan->CopyOutputs(outputs));
    return result;
  }

  absl::StatusOr<int64_t> PlanBytes(int64_t batch_size,
                                    bool training) override {
    PS_ASSIGN_OR_RETURN(const std::unique_ptr<NetworkPlan> plan,
                        CreatePlan(batch_size, TypicalSteps(), training));
    return plan->activation_bytes();
  }

  absl::Status CheckSequences(
      const LabelledSequences& sequences) const override {
    return loss_->CheckSequences(sequences);
  }

  // Returns "batch_size steps\n" of the plan that trained last, and its state.
  absl::StatusOr<std::string> SaveState() const override {
    const auto* const latest = plans_.Latest(/*training=*/true);
    if (latest == nullptr) return std::string();
    std::string bytes =
        absl::StrCat(latest->first.batch_size, " ", latest->first.steps, "\n");
    PS_RETURN_IF_ERROR(latest->second->SaveState(&bytes));
    return bytes;
  }

  absl::Status LoadState(absl::string_view bytes) override {
    if (bytes.empty()) return absl::OkStatus();
    const std::vector<absl::string_view> parts =
        absl::StrSplit(bytes, absl::MaxSplits('\n', 1));
    const std::vector<absl::string_view> shape = absl::StrSplit(parts[0], ' ');
    PlanKey key;
    key.training = true;
    if (parts.size() != 2 || shape.size() != 2 ||
        !absl::SimpleAtoi(shape[0], &key.batch_size) ||
        !absl::SimpleAtoi(shape[1], &key.steps) || key.batch_size < 1 ||
        key.steps < 0) {
      return absl::DataLossError(
          "the saved state of the model does not begin with a batch's shape");
    }
    PS_ASSIGN_OR_RETURN(std::unique_ptr<NetworkPlan> plan,
                        CreatePlan(key.batch_size, key.steps, true));
    PS_RETURN_IF_ERROR(plan->LoadState(parts[1]));
    plans_.Insert(key, std::move(plan));
    return absl::OkStatus();
  }

  void ReportGradientFrom(std::vector<int64_t> begins) override {
    borders_ = std::move(begins);
  }

  LayerTimes& layer_times() override { return times_; }
  RecordingCounts recordings() const override { return recordings_; }

  int64_t activation_bytes() const override {
    return plans_.activation_bytes();
  }

 private:
  absl::Status AddLayer(const Layer& layer) {
    for (LayerParameter& parameter : layer.parameters()) {
      const int64_t n = NumElements(parameter.shape);
      if (n < 1 || n >= kMaxParameters - num_parameters_) {
        return absl::InvalidArgumentError(absl::StrCat(
            parameter.name, " of shape ", ShapeString(parameter.shape),
            " after ", num_parameters_,
            " other parameters: a model must have fewer than 2^32, and at "
            "least one in each tensor"));
      }
      parameters_.push_back(
          {std::move(parameter.name), parameter.shape, num_parameters_});
      initializers_.push_back(parameter.initializer);
      num_parameters_ += n;
    }
    for (LayerStatistic& statistic : layer.statistics()) {
      statistics_.push_back({std::move(statistic.name), statistic.shape,
                             static_cast<int64_t>(initial_statistics_.size())});
      initial_statistics_.resize(
          initial_statistics_.size() + NumElements(statistic.shape),
          statistic.initial);
    }
    return absl::OkStatus();
  }

  absl::Status InitializeStatistics() {
    PS_ASSIGN_OR_RETURN(
        statistics_values_,
        backend_->Allocate({static_cast<int64_t>(initial_statistics_.size())}));
    return backend_->CopyFromHost(initial_statistics_.data(),
                                  &statistics_values_);
  }

  absl::Status CheckSize(absl::string_view what, const Tensor& tensor) const {
    if (tensor.size() == num_parameters_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", tensor.size(), " elements; the model has ",
                     num_parameters_, " parameters"));
  }

  // Returns a typical number of frames, about half a second.
  int64_t TypicalSteps() const {
    return example_.task == Task::kSpeech ? 64 : example_.steps;
  }

  // Rounds up to one of four lengths for each power of two. This keeps the
  // number of plans small, and at most a fifth of the frames is added silence.
  int64_t PlannedSteps(int64_t steps) const {
    if (example_.task == Task::kTexts) return example_.steps;
    if (example_.task != Task::kSpeech) return steps;
    int64_t unit = 1;
    while (8 * unit < steps) unit *= 2;
    return (steps + unit - 1) / unit * unit;
  }

  // Returns the number of inputs of one example with this many steps.
  int64_t InputsPerExample(int64_t steps) const {
    if (example_.task == Task::kImages) return example_.num_elements();
    if (example_.task == Task::kTexts) return example_.steps;
    return TellsNextToken(example_.task) ? steps : steps * example_.features;
  }

  // Whether the inputs of the batch are the latest that were sent, and have not
  // been received.
  bool TakeUpload(const Batch& batch) {
    const bool sent = sent_ != 0 && batch.upload == sent_;
    sent_ = 0;
    return sent;
  }

  absl::StatusOr<NetworkPlan*> PlanForBatch(const Batch& batch, bool training) {
    const int64_t num_inputs = static_cast<int64_t>(batch.inputs.size());
    if (batch.size() < 1 || batch.steps < 0 ||
        (batch.steps == 0) != HasClasses(example_.task) ||
        num_inputs != batch.size() * InputsPerExample(batch.steps)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a batch of ", batch.size(), " labels with ", num_inputs, " inputs",
          batch.steps > 0 ? absl::StrCat(" in ", batch.steps, " steps") : "",
          "; needs at least one example, and ", InputsPerExample(batch.steps),
          " inputs for each"));
    }
    const int64_t steps = PlannedSteps(batch.steps);
    const PlanKey key = {batch.size(), steps, training};
    std::string state;
    const auto* const latest = plans_.Latest(training);
    const bool carries = batch.continues && latest != nullptr &&
                         latest->first.batch_size == key.batch_size &&
                         latest->first.steps != steps;
    if (carries) PS_RETURN_IF_ERROR(latest->second->SaveState(&state));
    // The state of this plan would be that of an earlier batch.
    if (batch.continues && latest != nullptr &&
        latest->first.batch_size != key.batch_size) {
      plans_.Drop(key);
    }
    NetworkPlan* plan = plans_.Find(key);
    if (plan == nullptr) {
      plans_.MakeRoom(key);
      PS_ASSIGN_OR_RETURN(std::unique_ptr<NetworkPlan> made,
                          CreatePlan(batch.size(), steps, training));
      plan = plans_.Insert(key, std::move(made));
    }
    if (carries) PS_RETURN_IF_ERROR(plan->LoadState(state));
    return plan;
  }

  absl::StatusOr<std::unique_ptr<NetworkPlan>> CreatePlan(int64_t batch_size,
                                                          int64_t steps,
                                                          bool training) {
    NetworkPlanOptions options;
    options.layers = &layers_;
    options.loss = loss_.get();
    options.example = example_;
    options.batch_size = batch_size;
    options.steps = steps;
    options.training = training;
    options.backend = backend_;
    options.times = &times_;
    options.upload = upload_.get();
    options.recordings = records_steps_ ? &recordings_ : nullptr;
    return NetworkPlan::Create(options);
  }

  const ExampleShape example_;
  Backend* const backend_;  // Not owned; outlives the model.
  const bool records_steps_;
  const std::unique_ptr<Loss> loss_;
  std::vector<int64_t> borders_;  // The beginnings of the gradient's buckets.
  std::vector<PlacedLayer> layers_;
  std::vector<ParameterInfo> parameters_;
  std::vector<Initializer> initializers_;  // For parameters_[i].
  int64_t num_parameters_ = 0;
  std::vector<ParameterInfo> statistics_;
  std::vector<float> initial_statistics_;
  Tensor statistics_values_;
  std::unique_ptr<InputUpload> upload_;  // Null if the backend has none.
  int64_t num_uploads_ = 0;
  int64_t sent_ = 0;  // The upload whose inputs were sent; 0 if none.
  LayerTimes times_;
  RecordingCounts recordings_;
  PlanCache plans_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> NewSequentialModel(
    const ModelOptions& options, std::vector<std::unique_ptr<Layer>> layers,
    std::unique_ptr<Loss> loss) {
  return SequentialModel::Create(options, std::move(layers), std::move(loss));
}

}  // namespace ps
