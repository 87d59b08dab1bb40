// Creates the layers of a network that a config lists
// (proto/layers_config.proto).
#ifndef MODELS_DESCRIBED_DESCRIBED_LAYERS_H_
#define MODELS_DESCRIBED_DESCRIBED_LAYERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/batch.h"
#include "common/config_check.h"
#include "models/described/layer_shape.h"
#include "models/layers/layer.h"
#include "proto/layers_config.pb.h"

namespace ps {

// A layer of the config, after reading.
struct DescribedLayer {
  const LayerConfig* config = nullptr;  // The layer's part of the given config.
  // The name, after the names of the blocks around the layer.
  std::string name;
  int depth = 0;  // The number of residual blocks around the layer.
  LayerShape input;
  LayerShape output;
};

struct DescribedLayers {
  // The layers; empty if there is a problem, or no example.
  std::vector<std::unique_ptr<Layer>> layers;
  // Describes every layer; those of a residual block, first its `layer` and
  // then its `shortcut`, follow it.
  std::vector<DescribedLayer> description;
  // For speech: the frames of a recording for each step of the output.
  int64_t frames_per_step = 1;
};

// Derives the shape of every layer from that of the examples, and reports all
// problems: each names the layer's field in the job, its name, its input's
// shape and the rule. `example` may be null if the data set is not known yet;
// checks that depend on it are then omitted.
DescribedLayers MakeDescribedLayers(const LayersConfig& config,
                                    const ExampleShape* example,
                                    ConfigProblems* problems);

}  // namespace ps

#endif  // MODELS_DESCRIBED_DESCRIBED_LAYERS_H_
