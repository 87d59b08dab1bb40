#include "models/sequential_model.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "models/sequential_plan.h"

namespace ps {
namespace {

// Sets the draws of initial weights apart from all others of the job's seed:
// "weights" in ASCII.
constexpr uint64_t kInitialWeightsKey = 0x77656967687473;

constexpr int64_t kMaxParameters = int64_t{1} << 32;

class SequentialModel final : public Model {
 public:
  static absl::StatusOr<std::unique_ptr<Model>> Create(
      const ModelOptions& options, std::vector<std::unique_ptr<Layer>> layers) {
    auto model = std::make_unique<SequentialModel>(options);
    for (std::unique_ptr<Layer>& layer : layers) {
      PS_RETURN_IF_ERROR(model->AddLayer(std::move(layer)));
    }
    if (model->num_parameters_ == 0) {
      return absl::InvalidArgumentError("the model has no parameters");
    }
    // A first plan shows whether the layers fit together.
    PS_RETURN_IF_ERROR(model->PlanFor(1).status());
    return model;
  }

  explicit SequentialModel(const ModelOptions& options)
      : example_(options.example), backend_(options.backend) {}

  const std::vector<ParameterInfo>& parameters() const override {
    return parameters_;
  }

  int64_t num_parameters() const override { return num_parameters_; }

  // PyTorch's default for Conv2d and Linear: kaiming_uniform with a = sqrt(5)
  // (He et al., "Delving deep into rectifiers", ICCV 2015, with that slope
  // instead of the ReLU's 0), which is U(-b, b) with b = 1 / sqrt(fan_in), for
  // weights and biases alike.
  void InitializeWeights(uint64_t seed, float* weights) const override {
    for (size_t p = 0; p < parameters_.size(); ++p) {
      RandomStream random(RandomKey(seed, kInitialWeightsKey, p));
      const double bound = 1 / std::sqrt(static_cast<double>(fan_in_[p]));
      float* const begin = weights + parameters_[p].offset;
      const int64_t n = NumElements(parameters_[p].shape);
      for (int64_t i = 0; i < n; ++i) {
        begin[i] = static_cast<float>(random.Uniform(-bound, bound));
      }
    }
  }

  absl::StatusOr<BatchResult> ForwardBackward(
      const Batch& batch, const Tensor& weights, Tensor* gradient,
      const GradientReady& ready) override {
    PS_RETURN_IF_ERROR(CheckSize("weights", weights));
    PS_RETURN_IF_ERROR(CheckSize("gradient", *gradient));
    PS_ASSIGN_OR_RETURN(SequentialPlan* const plan, PlanForBatch(batch));
    PS_ASSIGN_OR_RETURN(
        const BatchResult result,
        plan->Forward(batch, weights.data(), /*want_gradient=*/true));
    PS_RETURN_IF_ERROR(
        plan->Backward(result, weights.data(), gradient->data(), ready));
    return result;
  }

  absl::StatusOr<BatchResult> Evaluate(const Batch& batch,
                                       const Tensor& weights) override {
    PS_RETURN_IF_ERROR(CheckSize("weights", weights));
    PS_ASSIGN_OR_RETURN(SequentialPlan* const plan, PlanForBatch(batch));
    return plan->Forward(batch, weights.data(), /*want_gradient=*/false);
  }

 private:
  absl::Status AddLayer(std::unique_ptr<Layer> layer) {
    PlacedLayer placed;
    placed.begin = num_parameters_;
    for (LayerParameter& parameter : layer->parameters()) {
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
      fan_in_.push_back(parameter.fan_in);
      num_parameters_ += n;
    }
    placed.end = num_parameters_;
    placed.layer = std::move(layer);
    layers_.push_back(std::move(placed));
    return absl::OkStatus();
  }

  absl::Status CheckSize(absl::string_view what, const Tensor& tensor) const {
    if (tensor.size() == num_parameters_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", tensor.size(), " elements; the model has ",
                     num_parameters_, " parameters"));
  }

  absl::StatusOr<SequentialPlan*> PlanForBatch(const Batch& batch) {
    const int64_t num_inputs = static_cast<int64_t>(batch.inputs.size());
    if (batch.size() < 1 ||
        num_inputs != batch.size() * example_.num_elements()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a batch of ", batch.size(), " labels with ", num_inputs,
                       " inputs; needs at least one example, and ",
                       example_.num_elements(), " inputs for each"));
    }
    return PlanFor(batch.size());
  }

  absl::StatusOr<SequentialPlan*> PlanFor(int64_t batch_size) {
    std::unique_ptr<SequentialPlan>& plan = plans_[batch_size];
    if (plan == nullptr) {
      PS_ASSIGN_OR_RETURN(plan, SequentialPlan::Create(layers_, example_,
                                                       batch_size, backend_));
    }
    return plan.get();
  }

  const ExampleShape example_;
  Backend* const backend_;  // Not owned; outlives the model.
  std::vector<PlacedLayer> layers_;
  std::vector<ParameterInfo> parameters_;
  std::vector<int64_t> fan_in_;  // Of parameters_[i].
  int64_t num_parameters_ = 0;
  std::map<int64_t, std::unique_ptr<SequentialPlan>> plans_;  // By batch size.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> NewSequentialModel(
    const ModelOptions& options, std::vector<std::unique_ptr<Layer>> layers) {
  return SequentialModel::Create(options, std::move(layers));
}

}  // namespace ps
