#include "models/layers/residual_block.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "models/layers/batch_norm.h"
#include "models/layers/chain.h"

namespace ps {
namespace {

// The positions where a part's weights and statistics begin in the block's.
struct Offsets {
  int64_t parameters = 0;
  int64_t statistics = 0;
};

class PlannedResidualBlock final : public PlannedLayer {
 public:
  struct Parts {
    std::unique_ptr<PlannedChain> main;
    std::unique_ptr<BatchNormOp> norm;
    std::unique_ptr<PlannedChain> shortcut;  // Null if it is the input itself.
    std::unique_ptr<SumOp> gradient_sum;     // Adds the paths' input gradients.
    bool shortcut_has_parameters = false;
    Offsets norm_begin;
    Offsets shortcut_begin;
    int64_t channels = 0;
  };

  static absl::StatusOr<std::unique_ptr<PlannedLayer>> Create(
      const PlanContext& context, const ActivationDesc& input, Parts parts) {
    auto block =
        std::make_unique<PlannedResidualBlock>(context, std::move(parts));
    const int64_t num_floats = block->output().num_floats;
    if (context.training) {
      PS_ASSIGN_OR_RETURN(block->main_output_, context.Allocate({num_floats}));
    }
    context.scratch->Reserve(block->slot(0), num_floats);
    if (block->p_.shortcut != nullptr && context.training) {
      context.scratch->Reserve(block->slot(1), input.num_floats);
    }
    return block;
  }

  PlannedResidualBlock(const PlanContext& context, Parts parts)
      : context_(context),
        p_(std::move(parts)),
        norm_time_(context.times->Kind(kBatchNormKind)),
        sum_time_(context.times->Kind("residual")) {}

  const ActivationDesc& output() const override { return p_.norm->output(); }

  bool records_forward() const override {
    return p_.main->records_forward() &&
           (p_.shortcut == nullptr || p_.shortcut->records_forward());
  }
  bool records_backward() const override {
    return p_.main->records_backward() &&
           (p_.shortcut == nullptr || p_.shortcut->records_backward());
  }

  absl::Status SaveState(std::string* bytes) const override {
    PS_RETURN_IF_ERROR(p_.main->SaveState(bytes));
    return p_.shortcut == nullptr ? absl::OkStatus()
                                  : p_.shortcut->SaveState(bytes);
  }
  absl::Status LoadState(absl::string_view* bytes) override {
    PS_RETURN_IF_ERROR(p_.main->LoadState(bytes));
    return p_.shortcut == nullptr ? absl::OkStatus()
                                  : p_.shortcut->LoadState(bytes);
  }

  absl::Status Forward(const ForwardArguments& a) override {
    ForwardArguments main = a;
    main.y = MainOutput();
    main.random_key = RandomKey(a.random_key, 0);
    PS_RETURN_IF_ERROR(p_.main->Forward(main, nullptr));
    if (p_.shortcut != nullptr) {
      ForwardArguments shortcut = a;
      shortcut.weights += p_.shortcut_begin.parameters;
      shortcut.statistics += p_.shortcut_begin.statistics;
      shortcut.random_key = RandomKey(a.random_key, 1);
      PS_RETURN_IF_ERROR(p_.shortcut->Forward(shortcut, nullptr));
    }
    const LayerTimer timer(context_.times, norm_time_,
                           LayerTimes::Direction::kForward);
    BatchNormOp::ForwardArguments norm;
    norm.x = main.y;
    norm.residual = p_.shortcut == nullptr ? a.x : a.y;
    norm.weight = a.weights + p_.norm_begin.parameters;
    norm.bias = norm.weight + p_.channels;
    norm.running_mean = a.statistics + p_.norm_begin.statistics;
    norm.running_variance = norm.running_mean + p_.channels;
    norm.y = a.y;
    return p_.norm->Forward(norm);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    float* const main_gradient = context_.scratch->data(slot(0));
    {
      const LayerTimer timer(context_.times, norm_time_,
                             LayerTimes::Direction::kBackward);
      BatchNormOp::BackwardArguments norm;
      norm.x = MainOutput();
      norm.y = a.y;
      norm.dy = a.dy;  // Becomes the gradient of the sum.
      norm.dx = main_gradient;
      norm.dweight = a.gradient + p_.norm_begin.parameters;
      norm.dbias = norm.dweight + p_.channels;
      PS_RETURN_IF_ERROR(p_.norm->Backward(norm));
    }
    BackwardArguments main = a;
    main.y = MainOutput();
    main.dy = main_gradient;
    PS_RETURN_IF_ERROR(p_.main->Backward(main, nullptr, {}));
    const float* shortcut_gradient = a.dy;
    if (p_.shortcut_has_parameters ||
        (p_.shortcut != nullptr && a.dx != nullptr)) {
      BackwardArguments shortcut = a;
      shortcut.y = nullptr;  // The sum has overwritten it.
      shortcut.weights += p_.shortcut_begin.parameters;
      shortcut.gradient += p_.shortcut_begin.parameters;
      if (a.dx != nullptr) shortcut.dx = context_.scratch->data(slot(1));
      shortcut_gradient = shortcut.dx;
      PS_RETURN_IF_ERROR(p_.shortcut->Backward(shortcut, nullptr, {}));
    }
    if (a.dx == nullptr) return absl::OkStatus();
    const LayerTimer timer(context_.times, sum_time_,
                           LayerTimes::Direction::kBackward);
    return p_.gradient_sum->Run(a.dx, shortcut_gradient, a.dx);
  }

 private:
  int slot(int64_t turn) const {
    return ScratchPool::CompositeSlot(context_.scratch_depth, turn);
  }

  // Returns the input of the norm, which training keeps for Backward.
  float* MainOutput() {
    return context_.training ? main_output_.data()
                             : context_.scratch->data(slot(0));
  }

  const PlanContext context_;
  const Parts p_;
  const size_t norm_time_;
  const size_t sum_time_;
  Tensor main_output_;  // The input of the norm; in training only.
};

class ResidualBlock final : public Layer {
 public:
  explicit ResidualBlock(ResidualBlockParts parts)
      : norm_(std::move(parts.norm)),
        main_(PlaceLayers(std::move(parts.main))),
        shortcut_(PlaceLayers(std::move(parts.shortcut))) {}

  std::string kind() const override { return ""; }

  std::vector<LayerParameter> parameters() const override {
    std::vector<LayerParameter> all;
    const auto append = [&all](std::vector<LayerParameter> more) {
      std::move(more.begin(), more.end(), std::back_inserter(all));
    };
    for (const PlacedLayer& placed : main_) append(placed.layer->parameters());
    append(BatchNormParameters(norm_.name, norm_.channels));
    for (const PlacedLayer& placed : shortcut_) {
      append(placed.layer->parameters());
    }
    return all;
  }

  std::vector<LayerStatistic> statistics() const override {
    std::vector<LayerStatistic> all;
    const auto append = [&all](std::vector<LayerStatistic> more) {
      std::move(more.begin(), more.end(), std::back_inserter(all));
    };
    for (const PlacedLayer& placed : main_) append(placed.layer->statistics());
    append(BatchNormStatistics(norm_.name, norm_.channels));
    for (const PlacedLayer& placed : shortcut_) {
      append(placed.layer->statistics());
    }
    return all;
  }

  void Describe(LayerConfigs* layers) const override {
    LayerConfig& block = *layers->Add();
    ResidualConfig& config = *block.mutable_residual();
    for (const PlacedLayer& placed : main_) {
      placed.layer->Describe(config.mutable_layer());
    }
    DescribeBatchNorm(norm_, config.mutable_layer());
    for (const PlacedLayer& placed : shortcut_) {
      placed.layer->Describe(config.mutable_shortcut());
    }
    NameBlock(&block);
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    PlanContext inner = context;
    ++inner.scratch_depth;
    PlannedResidualBlock::Parts parts;
    PS_ASSIGN_OR_RETURN(parts.main, PlannedChain::Create(main_, inner, input));
    const ActivationDesc* residual = &input;
    if (!shortcut_.empty()) {
      PS_ASSIGN_OR_RETURN(parts.shortcut,
                          PlannedChain::Create(shortcut_, inner, input));
      residual = &parts.shortcut->output();
    }
    if (parts.shortcut != nullptr && parts.shortcut->backward_reads_output() &&
        context.training) {
      return absl::InvalidArgumentError(
          absl::StrCat("the shortcut around ", norm_.name,
                       " must not end in a layer that needs its output again"));
    }
    const ActivationDesc& sum = parts.main->output();
    if (sum.shape.size() < 2 || sum.shape[1] != norm_.channels) {
      return absl::InvalidArgumentError(
          absl::StrCat(norm_.name, " gets ", ShapeString(sum.shape), "; needs ",
                       norm_.channels, " channels"));
    }
    BatchNormShape shape = BatchNormShapeOf(norm_, context.training);
    shape.relu = true;
    auto norm = context.backend->nn().PlanBatchNorm(shape, sum, residual);
    PS_RETURN_IF_ERROR(Annotate(norm.status(), norm_.name));
    parts.norm = *std::move(norm);
    PS_ASSIGN_OR_RETURN(parts.gradient_sum,
                        context.backend->nn().PlanSum(input));
    parts.channels = norm_.channels;
    parts.shortcut_has_parameters =
        std::any_of(shortcut_.begin(), shortcut_.end(),
                    [](const PlacedLayer& p) { return p.has_parameters(); });
    parts.norm_begin = EndOf(main_);
    parts.shortcut_begin = {parts.norm_begin.parameters + 2 * norm_.channels,
                            parts.norm_begin.statistics + 2 * norm_.channels};
    return PlannedResidualBlock::Create(context, input, std::move(parts));
  }

 private:
  static Offsets EndOf(const std::vector<PlacedLayer>& layers) {
    const PlacedLayer& last = layers.back();
    Offsets end = {last.end, last.statistics_begin};
    for (const LayerStatistic& statistic : last.layer->statistics()) {
      end.statistics += NumElements(statistic.shape);
    }
    return end;
  }

  const BatchNormOptions norm_;
  const std::vector<PlacedLayer> main_;
  const std::vector<PlacedLayer> shortcut_;
};

}  // namespace

void NameBlock(LayerConfig* block) {
  std::vector<std::string*> names;
  for (LayerConfigs* list : {block->mutable_residual()->mutable_layer(),
                             block->mutable_residual()->mutable_shortcut()}) {
    for (LayerConfig& layer : *list) {
      if (layer.has_name()) names.push_back(layer.mutable_name());
    }
  }
  if (names.empty()) return;
  std::string prefix = *names.front();
  const auto is_shared = [&names, &prefix] {
    return std::all_of(names.begin(), names.end(), [&](const auto* name) {
      return absl::StartsWith(*name, absl::StrCat(prefix, "."));
    });
  };
  while (!prefix.empty() && !is_shared()) {
    const size_t dot = prefix.rfind('.');
    prefix.resize(dot == std::string::npos ? 0 : dot);
  }
  if (prefix.empty()) return;
  block->set_name(prefix);
  for (std::string* name : names) name->erase(0, prefix.size() + 1);
}

std::unique_ptr<Layer> NewResidualBlock(ResidualBlockParts parts) {
  return std::make_unique<ResidualBlock>(std::move(parts));
}

}  // namespace ps
