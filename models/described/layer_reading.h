// One layer of a config, while it is read: where it is, what comes in, and what
// is wrong with it. Each kind of layer has a function that checks its fields,
// adds the layer to a chain, and returns the shape of its output.
#ifndef MODELS_DESCRIBED_LAYER_READING_H_
#define MODELS_DESCRIBED_LAYER_READING_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/batch.h"
#include "common/config_check.h"
#include "models/described/described_layers.h"
#include "models/described/layer_shape.h"
#include "models/layers/affine_layers.h"
#include "models/layers/batch_norm.h"
#include "models/layers/describe_initializer.h"
#include "models/layers/initializer.h"
#include "models/layers/layer.h"
#include "proto/layers_config.pb.h"

namespace ps {

using LayerList = std::vector<std::unique_ptr<Layer>>;

// What all layers of a network share.
struct NetworkReading {
  const ExampleShape* example = nullptr;  // Null: not known.
  ConfigProblems* problems = nullptr;
  std::set<std::string> names;
  std::vector<DescribedLayer> description;
  int64_t frames_per_step = 1;
  bool ties_embedding = false;
  int64_t embedding_features = 0;  // 0: there is none, or it is not known.

  int64_t num_classes() const {
    return example == nullptr ? 0 : example->num_classes;
  }
  int64_t num_tokens() const {
    return example == nullptr ? 0 : example->num_tokens();
  }
  // Nothing is made of a config with problems.
  bool makes_layers() const {
    return example != nullptr && problems->lines().empty();
  }
};

struct LayerReading {
  const LayerConfig& config;
  std::string path;  // "model.layers.layer[3]"
  std::string name;  // "conv2", with the names of the blocks that it is in.
  LayerShape input;
  NetworkReading* network;
  LayerList* layers;  // The chain that it belongs to.
  size_t index;       // In the network's description.

  // Report what is wrong: a field of the layer, which may be empty for the
  // layer itself, or what comes in. `rule` completes "... is VALUE; ".
  void Wrong(const std::string& field, const std::string& value,
             const std::string& rule) const;
  void WrongInput(const std::string& rule) const;

  // Report a value that is not in [low, high].
  void CheckRange(const std::string& field, int64_t value, int64_t low,
                  int64_t high) const;
  // Report an input of another kind; whether it may be of this kind.
  bool CheckKind(LayerShape::Kind kind) const;

  bool makes_layers() const { return network->makes_layers(); }
};

// The initial values that `config` gives, or `otherwise` if it gives none.
// `field` is the field that holds it. Fans of 0: he_normal is not possible.
Initializer ReadInitialValues(const LayerReading& layer,
                              const std::string& field,
                              const InitialValuesConfig& config,
                              const Fans& fans, const Initializer& otherwise);

// A list of layers, which run one after the other.
struct LayerListConfig {
  absl::Span<const LayerConfig* const> layers;
  std::string path;  // "model.layers.layer"
  // The names of its layers begin with `prefix`; those without a name of their
  // own go on with `positions` and a number.
  std::string prefix;
  std::string positions;
  int depth = 0;
};

// Adds the layers to *layers, and returns the shape of their output.
LayerShape ReadLayers(const LayerListConfig& list, const LayerShape& input,
                      NetworkReading* network, LayerList* layers);

// Names a layer of the list, checks its name, and describes it, as yet without
// its output.
LayerReading BeginLayer(const LayerListConfig& list, size_t index,
                        const LayerShape& input, NetworkReading* network,
                        LayerList* layers);

LayerShape ReadConvolution(const LayerReading& layer);
LayerShape ReadPooling(const LayerReading& layer);
LayerShape ReadGlobalPooling(const LayerReading& layer);
LayerShape ReadAdaptivePooling(const LayerReading& layer);
LayerShape ReadSubsampling(const LayerReading& layer);
LayerShape ReadFlatten(const LayerReading& layer);
LayerShape ReadBatchNorm(const LayerReading& layer, AfterNorm after);
LayerShape ReadActivation(const LayerReading& layer);
LayerShape ReadDropout(const LayerReading& layer);
LayerShape ReadLinear(const LayerReading& layer);
LayerShape ReadEmbedding(const LayerReading& layer);
LayerShape ReadRecurrent(const LayerReading& layer);
LayerShape ReadFrameWindow(const LayerReading& layer);
LayerShape ReadLastStep(const LayerReading& layer);
LayerShape ReadResidual(const LayerReading& layer);

// Checks a batch normalisation and makes its options.
BatchNormOptions ReadBatchNormOptions(const LayerReading& layer);

}  // namespace ps

#endif  // MODELS_DESCRIBED_LAYER_READING_H_
