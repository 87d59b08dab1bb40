#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tools/influence/factors.h"
#include "tools/influence/gradient_products.h"
#include "tools/influence/network_parts.h"
#include "tools/influence/sketch.h"

namespace ps {
namespace {

// The factors of several examples.
struct FactorRows {
  std::vector<float> errors;       // [size, outputs]
  std::vector<float> activations;  // [size, inputs]
};

class LastLayerProducts final : public GradientProducts {
 public:
  static absl::StatusOr<std::unique_ptr<GradientProducts>> Create(
      const ModelAtCheckpoint& at, const LastLayerOptions& options) {
    auto products = std::make_unique<LastLayerProducts>(at, options);
    PS_RETURN_IF_ERROR(products->Init());
    return products;
  }

  LastLayerProducts(const ModelAtCheckpoint& at,
                    const LastLayerOptions& options)
      : at_(at), options_(options) {}

  absl::Status AddQueries(const Batch& queries) override {
    ExampleScores ignored;
    PS_RETURN_IF_ERROR(Forward(queries, &queries_, &ignored));
    num_queries_ += queries.size();
    return absl::OkStatus();
  }

  absl::Status Score(const Batch& batch, ExampleScores* scores) override {
    FactorRows rows;
    PS_RETURN_IF_ERROR(Forward(batch, &rows, scores));
    for (int64_t i = 0; i < batch.size(); ++i) {
      const Factors example = Row(rows, i);
      scores->self.push_back(
          FactoredProduct(example, example, options_.with_bias));
      if (!std::isfinite(scores->self.back())) {
        return absl::OutOfRangeError(
            absl::StrCat("the gradient of example ", i, " is not finite"));
      }
      if (sketch_ != nullptr) sketch_->Append(example, &scores->sketches);
      for (int64_t q = 0; q < num_queries_; ++q) {
        scores->products.push_back(
            FactoredProduct(example, Row(queries_, q), options_.with_bias));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Init() {
    PS_ASSIGN_OR_RETURN(features_, NewFeatureNetwork(at_));
    const int64_t num_weights = outputs() * inputs();
    std::vector<float> last(num_weights + outputs());
    const int64_t total = at_.model->num_parameters();
    const Tensor slice =
        at_.weights->Slice(total - static_cast<int64_t>(last.size()), total);
    PS_RETURN_IF_ERROR(at_.backend->CopyToHost(slice, last.data()));
    weight_.assign(last.begin(), last.begin() + num_weights);
    bias_.assign(last.begin() + num_weights, last.end());
    if (options_.sketch_size == 0) return absl::OkStatus();
    SketchOptions sketch;
    sketch.outputs = outputs();
    sketch.inputs = inputs();
    sketch.with_bias = options_.with_bias;
    sketch.size = options_.sketch_size;
    sketch.key = options_.sketch_key;
    sketch_ = std::make_unique<FactorSketch>(sketch);
    return absl::OkStatus();
  }

  int64_t outputs() const { return at_.example.num_classes; }
  int64_t inputs() const { return features_.num_features; }

  Factors Row(const FactorRows& rows, int64_t i) const {
    return {
        absl::MakeConstSpan(rows.errors).subspan(i * outputs(), outputs()),
        absl::MakeConstSpan(rows.activations).subspan(i * inputs(), inputs())};
  }

  // Appends factors, labels, predictions and losses.
  absl::Status Forward(const Batch& batch, FactorRows* rows,
                       ExampleScores* scores) {
    PS_ASSIGN_OR_RETURN(const std::vector<float> activations,
                        Features(batch, at_.example.num_classes, &features_));
    std::vector<float> logits(outputs());
    for (int64_t i = 0; i < batch.size(); ++i) {
      const auto activation =
          absl::MakeConstSpan(activations).subspan(i * inputs(), inputs());
      for (int64_t o = 0; o < outputs(); ++o) {
        logits[o] =
            static_cast<float>(DotProduct(absl::MakeConstSpan(weight_).subspan(
                                              o * inputs(), inputs()),
                                          activation) +
                               bias_[o]);
      }
      const ClassLoss loss = SoftmaxLoss(logits, batch.labels[i]);
      if (!std::isfinite(loss.loss)) {
        return absl::OutOfRangeError(
            absl::StrCat("the loss of example ", i, " is not finite"));
      }
      rows->errors.insert(rows->errors.end(), loss.error.begin(),
                          loss.error.end());
      scores->labels.push_back(batch.labels[i]);
      scores->predicted.push_back(loss.predicted);
      scores->losses.push_back(loss.loss);
    }
    rows->activations.insert(rows->activations.end(), activations.begin(),
                             activations.end());
    return absl::OkStatus();
  }

  const ModelAtCheckpoint at_;
  const LastLayerOptions options_;
  std::unique_ptr<FactorSketch> sketch_;  // Null: none is asked for.
  FeatureNetwork features_;
  std::vector<float> weight_;  // [outputs, inputs]
  std::vector<float> bias_;    // [outputs]
  FactorRows queries_;
  int64_t num_queries_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GradientProducts>> NewLastLayerProducts(
    const ModelAtCheckpoint& at, const LastLayerOptions& options) {
  return LastLayerProducts::Create(at, options);
}

}  // namespace ps
