// Networks and data for tests of stages.
#ifndef TESTS_WORKER_LAYER_PARALLEL_HAND_MADE_STAGES_H_
#define TESTS_WORKER_LAYER_PARALLEL_HAND_MADE_STAGES_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/batch.h"
#include "common/random.h"
#include "models/layers/affine_layers.h"
#include "models/layers/convolution.h"
#include "models/layers/unary_layers.h"
#include "worker/layer_parallel/network_cuts.h"

namespace ps {

inline ExampleShape SmallImages() {
  ExampleShape example;
  example.channels = 3;
  example.height = 8;
  example.width = 8;
  example.num_classes = 5;
  return example;
}

inline Batch RandomImages(int64_t size, uint64_t key) {
  const ExampleShape example = SmallImages();
  RandomStream random(key);
  Batch batch;
  batch.inputs.resize(size * example.num_elements());
  for (float& x : batch.inputs) x = static_cast<float>(random.Uniform(-1, 1));
  for (int64_t i = 0; i < size; ++i) {
    batch.labels.push_back(
        static_cast<int32_t>(random.Below(example.num_classes)));
  }
  return batch;
}

// Stages of smooth layers without batch normalisation, so that examples are
// independent of each other. Each is a convolution and a tanh; the last has a
// linear layer, too.
inline std::vector<Stage> SmoothStages(int num_stages) {
  constexpr int64_t kChannels = 8;
  std::vector<Stage> stages;
  int64_t channels = SmallImages().channels;
  for (int k = 0; k < num_stages; ++k) {
    std::vector<std::unique_ptr<Layer>> layers;
    layers.push_back(
        NewConvolutionLayer("conv", channels, SquareKernel(kChannels, 3)));
    layers.push_back(NewActivationLayer(Activation::kTanh));
    channels = kChannels;
    if (k + 1 == num_stages) {
      layers.push_back(NewGlobalPoolingLayer());
      layers.push_back(
          NewLinearLayer("linear", channels, SmallImages().num_classes));
    }
    Stage stage;
    stage.begin = stages.empty() ? 0 : stages.back().end;
    stage.layers = PlaceLayers(std::move(layers));
    stage.end = stage.begin + stage.layers.back().end;
    stages.push_back(std::move(stage));
  }
  return stages;
}

inline std::vector<float> RandomWeights(const std::vector<Stage>& stages) {
  RandomStream random(11);
  std::vector<float> weights(stages.back().end);
  for (float& w : weights) w = static_cast<float>(random.Uniform(-0.3, 0.3));
  return weights;
}

}  // namespace ps

#endif  // TESTS_WORKER_LAYER_PARALLEL_HAND_MADE_STAGES_H_
