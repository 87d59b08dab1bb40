// Reads residual blocks: two lists of layers inside a layer.

#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/repeated_field.h"
#include "models/described/layer_reading.h"
#include "models/layers/residual_block.h"

namespace ps {
namespace {

absl::Span<const LayerConfig* const> Span(
    const google::protobuf::RepeatedPtrField<LayerConfig>& layers) {
  return {layers.data(), static_cast<size_t>(layers.size())};
}

}  // namespace

LayerShape ReadResidual(const LayerReading& layer) {
  const ResidualConfig& config = layer.config.residual();
  if (layer.input.is(LayerShape::Kind::kSequence) ||
      layer.input.is(LayerShape::Kind::kTokens)) {
    layer.WrongInput("must be images or [batch, features]");
  }
  const int last = config.layer_size() - 1;
  if (last < 1 || !config.layer(last).has_batch_norm()) {
    layer.Wrong("residual.layer",
                absl::StrCat("a list of ", config.layer_size(), " layers"),
                "must have at least two, of which the last is a batch_norm");
    return LayerShape();
  }
  ResidualBlockParts parts;
  LayerListConfig main;
  main.layers = Span(config.layer());
  main.path = absl::StrCat(layer.path, ".residual.layer");
  main.prefix = absl::StrCat(layer.name, ".");
  main.positions = "layer.";
  main.depth = layer.network->description[layer.index].depth + 1;
  LayerListConfig before_norm = main;
  before_norm.layers.remove_suffix(1);
  const LayerShape output =
      ReadLayers(before_norm, layer.input, layer.network, &parts.main);
  parts.norm = ReadBatchNormOptions(
      BeginLayer(main, last, output, layer.network, &parts.main));

  LayerListConfig other = main;
  other.layers = Span(config.shortcut());
  other.path = absl::StrCat(layer.path, ".residual.shortcut");
  other.positions = "shortcut.";
  const LayerShape shortcut =
      ReadLayers(other, layer.input, layer.network, &parts.shortcut);
  if (!config.shortcut().empty() &&
      config.shortcut().rbegin()->has_activation()) {
    layer.Wrong("residual.shortcut", "a list that ends in an activation",
                "must end in another layer");
  }
  if (!MayBeEqual(output, shortcut)) {
    layer.Wrong("residual.shortcut",
                absl::StrCat("from ", ToString(layer.input), " to ",
                             ToString(shortcut)),
                absl::StrCat("must give ", ToString(output),
                             ", the shape of the main path"));
  } else if (output.is(LayerShape::Kind::kImages) &&
             output.convolved != shortcut.convolved) {
    layer.Wrong("residual.shortcut", "without a convolution",
                "must have one where the main path has one and none comes "
                "before the block");
  }
  if (layer.makes_layers()) {
    layer.layers->push_back(NewResidualBlock(std::move(parts)));
  }
  return output;
}

}  // namespace ps
