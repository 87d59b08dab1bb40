#include "models/layers/embedding.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "models/layers/describe_initializer.h"
#include "tensor/sequence_kernels.h"

namespace ps {
namespace {

class PlannedEmbedding final : public PlannedLayer {
 public:
  PlannedEmbedding(Backend* backend, std::unique_ptr<EmbeddingOp> op,
                   const EmbeddingOptions& options)
      : backend_(backend),
        op_(std::move(op)),
        table_size_(options.num_tokens * options.features),
        tied_(options.tied) {}

  const ActivationDesc& output() const override { return op_->output(); }
  bool backward_reads_output() const override { return false; }
  bool backward_reads_input() const override { return false; }
  // Forward waits until it knows that all tokens are row numbers.
  bool records_forward() const override { return false; }

  absl::Status Forward(const ForwardArguments& a) override {
    return op_->Forward(a.x, a.weights, a.y);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    CHECK(a.dx == nullptr) << "tokens have no gradient";
    if (!tied_) {
      // The whole table is cleared, though only a few rows had a token: the
      // contents of the others are unknown here, and a NaN among them would
      // stay forever.
      PS_RETURN_IF_ERROR(backend_->vectors().Clear(a.gradient, table_size_));
    }
    return op_->AddGradient(a.dy, a.gradient);
  }

 private:
  Backend* const backend_;  // Not owned.
  const std::unique_ptr<EmbeddingOp> op_;
  const int64_t table_size_;
  const bool tied_;
};

class EmbeddingLayer final : public Layer {
 public:
  explicit EmbeddingLayer(const EmbeddingOptions& options)
      : options_(options) {}

  std::string kind() const override { return "embedding"; }

  std::vector<LayerParameter> parameters() const override {
    return {{absl::StrCat(options_.name, ".weight"),
             {options_.num_tokens, options_.features},
             options_.initializer}};
  }

  void Describe(LayerConfigs* layers) const override {
    LayerConfig& layer = *layers->Add();
    layer.set_name(options_.name);
    EmbeddingConfig& config = *layer.mutable_embedding();
    config.set_features(static_cast<int32_t>(options_.features));
    DescribeInitializer(options_.initializer, Initializer::Normal(1), Fans(),
                        [&] { return config.mutable_initial_weight(); });
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    EmbeddingShape shape;
    shape.num_rows = options_.num_tokens;
    shape.features = options_.features;
    auto op = context.backend->sequences().PlanEmbedding(shape, input);
    PS_RETURN_IF_ERROR(Annotate(op.status(), options_.name));
    return std::make_unique<PlannedEmbedding>(context.backend, *std::move(op),
                                              options_);
  }

 private:
  const EmbeddingOptions options_;
};

}  // namespace

std::unique_ptr<Layer> NewEmbeddingLayer(const EmbeddingOptions& options) {
  return std::make_unique<EmbeddingLayer>(options);
}

}  // namespace ps
