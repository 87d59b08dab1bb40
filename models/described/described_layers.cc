#include "models/described/described_layers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/field_rules.h"
#include "google/protobuf/descriptor.h"
#include "models/described/layer_reading.h"

namespace ps {
namespace {

constexpr size_t kMaxLayers = 1000;
constexpr size_t kMaxNameLength = 128;
constexpr int64_t kMaxElements = int64_t{1} << 31;

bool IsLayerName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxNameLength &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

std::string KnownKinds() {
  const auto& kinds = *LayerConfig::descriptor()->FindOneofByName("kind");
  std::vector<std::string> names;
  for (int i = 0; i < kinds.field_count(); ++i) {
    names.push_back(kinds.field(i)->name());
  }
  return absl::StrJoin(names, ", ");
}

LayerShape ReadLayer(const LayerReading& layer, AfterNorm after_norm) {
  switch (layer.config.kind_case()) {
    case LayerConfig::KIND_NOT_SET:
      break;
    case LayerConfig::kConvolution:
      return ReadConvolution(layer);
    case LayerConfig::kLinear:
      return ReadLinear(layer);
    case LayerConfig::kBatchNorm:
      return ReadBatchNorm(layer, after_norm);
    case LayerConfig::kMaxPooling:
    case LayerConfig::kAveragePooling:
      return ReadPooling(layer);
    case LayerConfig::kGlobalPooling:
      return ReadGlobalPooling(layer);
    case LayerConfig::kAdaptivePooling:
      return ReadAdaptivePooling(layer);
    case LayerConfig::kActivation:
      return ReadActivation(layer);
    case LayerConfig::kFlatten:
      return ReadFlatten(layer);
    case LayerConfig::kDropout:
      return ReadDropout(layer);
    case LayerConfig::kResidual:
      return ReadResidual(layer);
    case LayerConfig::kSubsampling:
      return ReadSubsampling(layer);
    case LayerConfig::kEmbedding:
      return ReadEmbedding(layer);
    case LayerConfig::kLstm:
    case LayerConfig::kGru:
      return ReadRecurrent(layer);
    case LayerConfig::kFrameWindow:
      return ReadFrameWindow(layer);
    case LayerConfig::kLastStep:
      return ReadLastStep(layer);
  }
  layer.Wrong("", "empty", absl::StrCat("must have one of ", KnownKinds()));
  return LayerShape();
}

// Checks that the output has the shape that the loss needs.
void CheckOutput(const LayerShape& output, const NetworkReading& network) {
  const Task task = network.example->task;
  LayerShape needed = LayerShape::Features(network.num_classes());
  if (!HasClasses(task)) needed.kind = LayerShape::Kind::kSequence;
  if (MayBeEqual(output, needed)) return;
  network.problems->Add(
      "the output of model.layers", ToString(output),
      absl::StrCat("must be ", ToString(needed),
                   ", a number for each of the data set's classes: a linear "
                   "layer without out_features makes it"));
}

}  // namespace

LayerReading BeginLayer(const LayerListConfig& list, size_t index,
                        const LayerShape& input, NetworkReading* network,
                        LayerList* layers) {
  const LayerConfig& config = *list.layers[index];
  const std::string own = config.name().empty()
                              ? absl::StrCat(list.positions, index)
                              : config.name();
  LayerReading layer = {config,
                        absl::StrCat(list.path, "[", index, "]"),
                        absl::StrCat(list.prefix, own),
                        input,
                        network,
                        layers,
                        network->description.size()};
  network->description.push_back(
      {&config, layer.name, list.depth, input, input});
  if (!IsLayerName(own)) {
    layer.Wrong("name", absl::StrCat("\"", own, "\""),
                absl::StrCat("must be 1 to ", kMaxNameLength,
                             " letters, digits, \".\", \"_\" and \"-\""));
  }
  // ReadLayers checks the layers in a residual block.
  CheckFields(
      config,
      [&layer](const std::string& field, const std::string& value,
               const std::string& rule) { layer.Wrong(field, value, rule); });
  if (!network->names.insert(layer.name).second) {
    layer.Wrong("name", absl::StrCat("\"", layer.name, "\""),
                "must not be the name of an earlier layer");
  }
  return layer;
}

LayerShape ReadLayers(const LayerListConfig& list, const LayerShape& input,
                      NetworkReading* network, LayerList* layers) {
  LayerShape shape = input;
  // Whether a batch normalisation applies the ReLU after it.
  bool takes_next = false;
  for (size_t i = 0; i < list.layers.size(); ++i) {
    if (network->description.size() == kMaxLayers) {
      network->problems->Add(
          list.path, "longer",
          absl::StrCat("a network must have at most ", kMaxLayers, " layers"));
      return LayerShape();
    }
    const LayerReading layer = BeginLayer(list, i, shape, network, layers);
    if (std::exchange(takes_next, false)) continue;
    takes_next = layer.config.has_batch_norm() && i + 1 < list.layers.size() &&
                 list.layers[i + 1]->activation() == "relu";
    shape =
        ReadLayer(layer, takes_next ? AfterNorm::kRelu : AfterNorm::kNothing);
    if (shape.num_elements() > kMaxElements) {
      layer.Wrong("", absl::StrCat("a layer whose output is ", ToString(shape)),
                  "an example must have fewer than 2^31 numbers");
      shape = LayerShape();
    }
    network->description[layer.index].output = shape;
  }
  return shape;
}

DescribedLayers MakeDescribedLayers(const LayersConfig& config,
                                    const ExampleShape* example,
                                    ConfigProblems* problems) {
  NetworkReading network;
  network.example = example;
  network.problems = problems;
  for (const LayerConfig& layer : config.layer()) {
    network.ties_embedding |= layer.linear().tied_to_embedding();
  }
  LayerListConfig list;
  list.layers = {config.layer().data(),
                 static_cast<size_t>(config.layer_size())};
  list.path = "model.layers.layer";
  if (config.layer().empty()) {
    problems->Add(list.path, "empty", "must list the layers of the network");
    return {};
  }
  DescribedLayers made;
  const LayerShape output =
      ReadLayers(list, example == nullptr ? LayerShape() : InputShape(*example),
                 &network, &made.layers);
  if (example != nullptr) CheckOutput(output, network);
  made.frames_per_step = network.frames_per_step;
  made.description = std::move(network.description);
  if (!problems->lines().empty()) made.layers.clear();
  return made;
}

}  // namespace ps
