#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tools/influence/factors.h"
#include "tools/influence/gradient_products.h"
#include "tools/influence/network_parts.h"

namespace ps {
namespace {

class AllLayersProducts final : public GradientProducts {
 public:
  AllLayersProducts(const ModelAtCheckpoint& at, std::unique_ptr<Model> model,
                    Tensor gradient)
      : at_(at), model_(std::move(model)), gradient_(std::move(gradient)) {}

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
      std::vector<float> gradient(gradient_.size());
      PS_RETURN_IF_ERROR(at_.backend->CopyToHost(gradient_, gradient.data()));
      if (!std::isfinite(loss.loss + DotProduct(gradient, gradient))) {
        return absl::OutOfRangeError(absl::StrCat(
            "the loss or gradient of example ", i, " is not finite"));
      }
      use(std::move(gradient));
    }
    return absl::OkStatus();
  }

  const ModelAtCheckpoint at_;
  const std::unique_ptr<Model> model_;
  Tensor gradient_;                          // [num_parameters]
  std::vector<std::vector<float>> queries_;  // [query][num_parameters]
};

}  // namespace

absl::StatusOr<std::unique_ptr<GradientProducts>> NewAllLayersProducts(
    const ModelAtCheckpoint& at) {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                      NewNetworkWithoutDropout(at));
  PS_ASSIGN_OR_RETURN(Tensor gradient,
                      at.backend->Allocate({model->num_parameters()}));
  return std::make_unique<AllLayersProducts>(at, std::move(model),
                                             std::move(gradient));
}

}  // namespace ps
