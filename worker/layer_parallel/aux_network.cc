#include "worker/layer_parallel/aux_network.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "models/layers/batch_norm.h"
#include "models/layers/convolution.h"
#include "models/layers/initializer.h"
#include "models/layers/residual_block.h"
#include "optimizers/optimizer.h"
#include "worker/layer_parallel/stage_plan.h"

namespace ps {
namespace {

// The purpose separates the initial weights of these networks from all other
// draws: "auxnet" in ASCII.
constexpr uint64_t kAuxNetworkKey = 0x6175786e6574;
constexpr int64_t kKernel = 3;
constexpr int kBlocks = 2;

std::unique_ptr<Layer> Block(const std::string& name, int64_t channels) {
  ResidualBlockParts parts;
  parts.main.push_back(NewConvolutionLayer(
      absl::StrCat(name, ".conv1"), channels, SquareKernel(channels, kKernel)));
  parts.main.push_back(NewBatchNormLayer(absl::StrCat(name, ".bn1"), channels,
                                         AfterNorm::kRelu));
  parts.main.push_back(NewConvolutionLayer(
      absl::StrCat(name, ".conv2"), channels, SquareKernel(channels, kKernel)));
  parts.norm.name = absl::StrCat(name, ".bn2");
  parts.norm.channels = channels;
  return NewResidualBlock(std::move(parts));
}

class AuxNetwork final : public CutVariables {
 public:
  explicit AuxNetwork(const AuxNetworkOptions& options) : options_(options) {}

  absl::Status Initialize(int64_t channels, int64_t inner_channels,
                          int64_t stride);

  absl::Status Fetch(const Examples& examples, CutBatch* cut) override {
    PS_RETURN_IF_ERROR(Run(*examples.batch));
    cut->variables.assign(plan_->end(), plan_->end() + end_size());
    return absl::OkStatus();
  }

  absl::Status Store(const Examples&, const CutBatch& cut) override {
    return Learn(cut.variables, cut.step_size);
  }

  absl::Status Record(const Examples& examples,
                      const std::vector<float>& activations,
                      const std::vector<float>&) override {
    PS_RETURN_IF_ERROR(Run(*examples.batch));
    return Learn(activations, 1);
  }

  void Save(StateWriter* state) const override {
    state->PutInt(updates_);
    state->PutFloats(weights_);
    for (const auto& [name, values] : optimizer_->State()) {
      state->PutFloats(*values);
    }
  }

  absl::Status Load(StateReader* state) override {
    PS_ASSIGN_OR_RETURN(updates_, state->GetInt());
    PS_RETURN_IF_ERROR(state->GetFloats(absl::MakeSpan(weights_)));
    for (const auto& [name, values] : optimizer_->State()) {
      PS_RETURN_IF_ERROR(state->GetFloats(absl::MakeSpan(*values)));
    }
    return absl::OkStatus();
  }

 private:
  int64_t end_size() const { return NumElements(plan_->end_shape()); }

  StagePlan::Values Values() {
    StagePlan::Values values;
    values.weights = weights_.data();
    values.statistics = statistics_.data();
    return values;
  }

  absl::Status Run(const Batch& batch) {
    return plan_->Forward(batch.inputs.data(), Values());
  }

  // Steps by the gradient of |end - wanted|^2 / (2 step_size), a batch's mean.
  absl::Status Learn(const std::vector<float>& wanted, double step_size) {
    std::vector<float> gradient(end_size());
    const double scale =
        1 / (step_size * static_cast<double>(options_.batch_size));
    for (size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] =
          static_cast<float>(scale * (double{plan_->end()[i]} - wanted[i]));
    }
    PS_RETURN_IF_ERROR(
        plan_->Backward(gradient.data(), Values(), gradient_.data()));
    UpdateInfo update;
    update.learning_rate = options_.learning_rate;
    update.update = updates_++;
    optimizer_->Step(update, 0, static_cast<int64_t>(weights_.size()),
                     gradient_.data(), weights_.data());
    return absl::OkStatus();
  }

  const AuxNetworkOptions options_;
  std::vector<PlacedLayer> layers_;
  std::unique_ptr<StagePlan> plan_;
  std::vector<float> weights_;
  std::vector<float> gradient_;
  std::vector<float> statistics_;  // Written, but never read.
  std::unique_ptr<Optimizer> optimizer_;
  int64_t updates_ = 0;
};

absl::Status AuxNetwork::Initialize(int64_t channels, int64_t inner_channels,
                                    int64_t stride) {
  std::vector<std::unique_ptr<Layer>> layers;
  const ConvolutionShape first = SquareKernel(inner_channels, kKernel, stride);
  layers.push_back(
      NewConvolutionLayer("first", options_.example.channels, first));
  for (int i = 0; i < kBlocks; ++i) {
    layers.push_back(Block(absl::StrCat("block", i), inner_channels));
  }
  ConvolutionShape last = SquareKernel(channels, 1);
  last.bias = true;
  layers.push_back(NewConvolutionLayer("last", inner_channels, last));
  int64_t multiplications = 0;
  const int64_t pixels = options_.cut.filter.filtered_size() / channels;
  uint64_t number = 0;
  for (const auto& layer : layers) {
    for (const LayerParameter& parameter : layer->parameters()) {
      const int64_t n = NumElements(parameter.shape);
      const size_t begin = weights_.size();
      weights_.resize(begin + n);
      ps::Initialize(
          parameter.initializer,
          RandomKey(options_.seed, kAuxNetworkKey,
                    static_cast<uint64_t>(options_.number), number++),
          n, weights_.data() + begin);
      if (parameter.shape.size() == 4) multiplications += n * pixels;
    }
    for (const LayerStatistic& statistic : layer->statistics()) {
      statistics_.resize(statistics_.size() + NumElements(statistic.shape),
                         statistic.initial);
    }
  }
  const auto num_weights = static_cast<int64_t>(weights_.size());
  if (10 * num_weights > options_.stage_weights ||
      100 * multiplications > 15 * options_.stage_multiplications) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the auxiliary network of cut ", options_.number, " has ", num_weights,
        " weights and ", multiplications, " multiplications, and the stage ",
        "behind it ", options_.stage_weights, " and ",
        options_.stage_multiplications,
        "; must be at most 10 % and 15 %: use fewer stages, or stored "
        "variables"));
  }
  gradient_.resize(weights_.size());
  layers_ = PlaceLayers(std::move(layers));
  StagePlanOptions plan;
  plan.layers = &layers_;
  plan.start =
      ActivationDesc::Plain({options_.batch_size, options_.example.channels,
                             options_.example.height, options_.example.width});
  plan.backend = options_.backend;
  plan.times = options_.times;
  PS_ASSIGN_OR_RETURN(plan_, StagePlan::Create(plan));
  OptimizerOptions optimizer;
  optimizer.config.set_name("adam");
  optimizer.num_elements = num_weights;
  PS_ASSIGN_OR_RETURN(optimizer_, NewOptimizer(optimizer));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CutVariables>> NewAuxNetwork(
    const AuxNetworkOptions& options) {
  const BlockFilter& filter = options.cut.filter;
  const int64_t channels = filter.planes;
  const int64_t height = filter.height / filter.extent;
  const int64_t width = filter.width / filter.extent;
  const int64_t stride = options.example.height / height;
  if (stride < 1 || height * stride != options.example.height ||
      width * stride != options.example.width) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the activations at cut ", options.number, " are ", height, " x ",
        width, ", and the images ", options.example.height, " x ",
        options.example.width,
        "; training.layer_parallel.aux_network needs a whole ratio, the same "
        "in both directions"));
  }
  auto network = std::make_unique<AuxNetwork>(options);
  PS_RETURN_IF_ERROR(network->Initialize(
      channels, std::max<int64_t>(1, channels / 4), stride));
  return network;
}

}  // namespace ps
