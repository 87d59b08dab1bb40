#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "tools/influence/factors.h"
#include "tools/influence/gradient_products.h"
#include "tools/influence/network_parts.h"

namespace ps {
namespace {

class LayerProducts final : public GradientProducts {
 public:
  static absl::StatusOr<std::unique_ptr<GradientProducts>> Create(
      const ModelAtCheckpoint& at, const std::vector<std::string>& layers) {
    auto products = std::make_unique<LayerProducts>(at);
    PS_ASSIGN_OR_RETURN(products->model_, NewNetworkAsEvaluated(at));
    PS_ASSIGN_OR_RETURN(
        products->gradient_,
        at.backend->Allocate({products->model_->num_parameters()}));
    PS_RETURN_IF_ERROR(products->ChooseWeights(layers));
    return products;
  }

  explicit LayerProducts(const ModelAtCheckpoint& at) : at_(at) {}

  absl::Status AddQueries(const Batch& queries) override {
    ExampleScores ignored;
    return ForEach(queries, &ignored, [this](std::vector<float> gradient) {
      queries_.push_back(std::move(gradient));
    });
  }

  absl::Status Score(const Batch& batch, ExampleScores* scores) override {
    return ForEach(batch, scores, [&](const std::vector<float>& gradient) {
      scores->self.push_back(DotProduct(gradient, gradient));
      for (const std::vector<float>& query : queries_) {
        scores->products.push_back(DotProduct(gradient, query));
      }
    });
  }

 private:
  // Names the first of `layers` that has no weights.
  absl::Status ChooseWeights(const std::vector<std::string>& layers) {
    chosen_.assign(layers.empty() ? 1 : 0, {0, model_->num_parameters()});
    std::vector<bool> found(layers.size());
    for (const ParameterInfo& parameter : model_->parameters()) {
      bool is_chosen = false;
      for (size_t i = 0; i < layers.size(); ++i) {
        if (!IsOf(parameter, layers[i])) continue;
        found[i] = true;
        is_chosen = true;
      }
      if (!is_chosen) continue;
      chosen_.push_back(
          {parameter.offset, parameter.offset + NumElements(parameter.shape)});
    }
    const auto missing = absl::c_find(found, false);
    if (missing == found.end()) return absl::OkStatus();
    std::vector<absl::string_view> known;
    for (const ParameterInfo& parameter : model_->parameters()) {
      const absl::string_view name = parameter.name;
      const absl::string_view first = name.substr(0, name.find('.'));
      if (!absl::c_linear_search(known, first)) known.push_back(first);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("--layers names ", layers[missing - found.begin()],
                     ", and the model has no such layer with weights; it has ",
                     absl::StrJoin(known, ", "),
                     " and what `gradsieve model show` lists below them"));
  }

  // A layer's name is that of its weights up to a dot.
  static bool IsOf(const ParameterInfo& parameter, const std::string& layer) {
    return parameter.name == layer ||
           absl::StartsWith(parameter.name, absl::StrCat(layer, "."));
  }

  std::vector<float> Chosen(const std::vector<float>& gradient) const {
    std::vector<float> chosen;
    for (const auto& [begin, end] : chosen_) {
      chosen.insert(chosen.end(), gradient.begin() + begin,
                    gradient.begin() + end);
    }
    return chosen;
  }

  // Calls `use` with the gradient of each example's loss, and appends labels,
  // predictions and losses.
  template <typename Use>
  absl::Status ForEach(const Batch& batch, ExampleScores* scores,
                       const Use& use) {
    std::vector<float> logits;
    PS_RETURN_IF_ERROR(model_->Predict(batch, *at_.weights, &logits).status());
    const int64_t classes = at_.example.num_classes;
    const int64_t num_inputs = at_.example.num_elements();
    for (int64_t i = 0; i < batch.size(); ++i) {
      const ClassLoss loss =
          SoftmaxLoss(absl::MakeConstSpan(logits).subspan(i * classes, classes),
                      batch.labels[i]);
      scores->labels.push_back(batch.labels[i]);
      scores->predicted.push_back(loss.predicted);
      scores->losses.push_back(loss.loss);
      Batch single;
      single.inputs.assign(batch.inputs.begin() + i * num_inputs,
                           batch.inputs.begin() + (i + 1) * num_inputs);
      single.labels = {batch.labels[i]};
      PS_RETURN_IF_ERROR(
          model_->ForwardBackward(single, *at_.weights, &gradient_, nullptr)
              .status());
      std::vector<float> all(gradient_.size());
      PS_RETURN_IF_ERROR(at_.backend->CopyToHost(gradient_, all.data()));
      std::vector<float> gradient = Chosen(all);
      if (!std::isfinite(loss.loss + DotProduct(gradient, gradient))) {
        return absl::OutOfRangeError(absl::StrCat(
            "the loss or gradient of example ", i, " is not finite"));
      }
      use(std::move(gradient));
    }
    return absl::OkStatus();
  }

  const ModelAtCheckpoint at_;
  std::unique_ptr<Model> model_;
  Tensor gradient_;  // [num_parameters]
  // The weights that count, [begin, end) of all, ascending.
  std::vector<std::pair<int64_t, int64_t>> chosen_;
  std::vector<std::vector<float>> queries_;  // [query][those weights]
};

}  // namespace

absl::StatusOr<std::unique_ptr<GradientProducts>> NewLayerProducts(
    const ModelAtCheckpoint& at, const std::vector<std::string>& layers) {
  return LayerProducts::Create(at, layers);
}

}  // namespace ps
