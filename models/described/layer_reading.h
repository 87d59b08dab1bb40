// Reads the layers of a config. A LayerReading has a layer's place, its input
// and where to report problems. Each kind of layer has a function that checks
// its fields, adds the layer to a chain, and returns the shape of its output.
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

// The state that all layers of a network share.
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
  // Whether to create layers: there are none for a config with problems.
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
  LayerList* layers;  // The chain to which the layer is added.
  size_t index;       // The index in the network's description.

  // Report a problem of the layer's field, of the layer itself if `field` is
  // empty, or of its input. `rule` completes "... is VALUE; ".
  void Wrong(const std::string& field, const std::string& value,
             const std::string& rule) const;
  void WrongInput(const std::string& rule) const;

  // Reports an input of another kind; returns whether it may be of this kind.
  bool CheckKind(LayerShape::Kind kind) const;

  bool makes_layers() const { return network->makes_layers(); }
};

// Returns the initializer that `config` gives, or `otherwise` if it gives none.
// `field` is the field that holds it. Fans of 0 forbid he_normal.
Initializer ReadInitialValues(const LayerReading& layer,
                              const std::string& field,
                              const InitialValuesConfig& config,
                              const Fans& fans, const Initializer& otherwise);

// A list of layers, which run one after the other.
struct LayerListConfig {
  absl::Span<const LayerConfig* const> layers;
  std::string path;  // "model.layers.layer"
  // The prefix of the layers' names; a layer without a name of its own appends
  // `positions` and a number to it.
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

// Checks a batch normalisation and returns its options.
BatchNormOptions ReadBatchNormOptions(const LayerReading& layer);

}  // namespace ps

#endif  // MODELS_DESCRIBED_LAYER_READING_H_
