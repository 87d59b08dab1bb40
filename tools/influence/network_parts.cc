#include "tools/influence/network_parts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "proto/layers_config.pb.h"
#include "proto/model_config.pb.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Model>> NewDescribed(const LayersConfig& layers,
                                                    const ExampleShape& example,
                                                    Backend* backend) {
  ModelOptions options;
  options.config.set_name("layers");
  *options.config.mutable_layers() = layers;
  options.example = example;
  options.backend = backend;
  return NewModel(options);
}

using LayerConfigs = google::protobuf::RepeatedPtrField<LayerConfig>;

// Layers that leave every value as it is, in evaluations.
bool KeepsValues(const LayerConfig& layer) {
  return layer.has_flatten() || layer.kind_case() == LayerConfig::kDropout;
}

LayerConfigs AsEvaluated(const LayerConfigs& layers) {
  LayerConfigs kept;
  for (const LayerConfig& layer : layers) {
    if (layer.kind_case() == LayerConfig::kDropout) continue;
    LayerConfig& copy = *kept.Add();
    copy = layer;
    if (copy.has_batch_norm()) {
      copy.mutable_batch_norm()->set_fixed_statistics(true);
    }
    if (!layer.has_residual()) continue;
    ResidualConfig& residual = *copy.mutable_residual();
    *residual.mutable_layer() = AsEvaluated(layer.residual().layer());
    *residual.mutable_shortcut() = AsEvaluated(layer.residual().shortcut());
  }
  return kept;
}

absl::Status CheckLabels(const Batch& batch, int64_t num_classes) {
  for (size_t i = 0; i < batch.labels.size(); ++i) {
    if (batch.labels[i] >= 0 && batch.labels[i] < num_classes) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("label ", batch.labels[i], " of example ", i,
                     "; must be in [0, ", num_classes, ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FeatureNetwork> NewFeatureNetwork(const ModelAtCheckpoint& at) {
  LayersConfig layers = at.model->Describe();
  const std::vector<ParameterInfo>& parameters = at.model->parameters();
  const LayerConfig& last = *layers.layer().rbegin();
  if (!last.has_linear() || last.linear().tied_to_embedding()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the network ends with layer \"", last.name(),
        "\", and not with a linear layer that has its own weight; take all "
        "layers (--layers=all)"));
  }
  FeatureNetwork network;
  // The weight, [classes, features], and the bias are the last two.
  network.num_features = parameters[parameters.size() - 2].shape[1];
  layers.mutable_layer()->RemoveLast();
  const int64_t num_weights =
      at.model->num_parameters() -
      (network.num_features + 1) * at.example.num_classes;
  if (num_weights == 0) {
    if (std::all_of(layers.layer().begin(), layers.layer().end(),
                    KeepsValues)) {
      return network;
    }
    return absl::InvalidArgumentError(
        "the layers before the last have no weights; take all layers "
        "(--layers=all)");
  }
  ExampleShape example = at.example;
  example.num_classes = network.num_features;
  PS_ASSIGN_OR_RETURN(network.model, NewDescribed(layers, example, at.backend));
  network.weights = at.weights->Slice(0, num_weights);
  // A linear layer has no statistics.
  network.model->statistics_values() = at.model->statistics_values();
  return network;
}

absl::StatusOr<std::vector<float>> Features(const Batch& batch,
                                            int64_t num_classes,
                                            FeatureNetwork* network) {
  PS_RETURN_IF_ERROR(CheckLabels(batch, num_classes));
  if (network->model == nullptr) return batch.inputs;
  Batch unlabelled;
  unlabelled.inputs = batch.inputs;
  unlabelled.labels.assign(batch.labels.size(), 0);
  std::vector<float> features;
  PS_RETURN_IF_ERROR(
      network->model->Predict(unlabelled, network->weights, &features)
          .status());
  return features;
}

absl::StatusOr<std::unique_ptr<Model>> NewNetworkAsEvaluated(
    const ModelAtCheckpoint& at) {
  LayersConfig layers = at.model->Describe();
  *layers.mutable_layer() = AsEvaluated(layers.layer());
  PS_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                      NewDescribed(layers, at.example, at.backend));
  model->statistics_values() = at.model->statistics_values();
  return model;
}

}  // namespace ps
