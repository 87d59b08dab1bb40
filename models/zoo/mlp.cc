// Fully connected layers with ReLU between them, from the flattened example to
// the logits. In PyTorch: self.layers = Sequential(Linear, ReLU, Linear, ...),
// where ReLUs count in the numbering of the linear layers.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/layers/affine_layers.h"
#include "models/layers/layer.h"
#include "models/layers/unary_layers.h"
#include "models/model.h"
#include "models/sequential_model.h"
#include "models/zoo/image_task.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Model>> NewMlp(const ModelOptions& options) {
  PS_RETURN_IF_ERROR(CheckImageTask(options.example, /*min_extent=*/1));
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(NewFlattenLayer());
  int64_t features = options.example.num_elements();
  const auto add_linear = [&](int64_t out_features) {
    layers.push_back(NewLinearLayer(absl::StrCat("layers.", layers.size() - 1),
                                    features, out_features));
    features = out_features;
  };
  for (const int32_t units : options.config.mlp().hidden_units()) {
    add_linear(units);
    layers.push_back(NewReluLayer());
  }
  add_linear(options.example.num_classes);
  return NewSequentialModel(options, std::move(layers));
}

REGISTER_MODEL(
    "mlp",
    "images of any size: fully connected layers, whose sizes are options",
    NewMlp);

}  // namespace
}  // namespace ps
