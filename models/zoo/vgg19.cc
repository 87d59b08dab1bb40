// VGG-19: configuration E of Simonyan and Zisserman, "Very deep convolutional
// networks for large-scale image recognition", ICLR 2015, without batch
// normalisation. Names and initial weights are those of torchvision's vgg19.
// Like there, images of other sizes than 224 x 224 are averaged to 7 x 7
// features.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/layers/affine_layers.h"
#include "models/layers/convolution.h"
#include "models/layers/dropout.h"
#include "models/layers/layer.h"
#include "models/layers/unary_layers.h"
#include "models/model.h"
#include "models/sequential_model.h"
#include "models/zoo/image_task.h"
#include "proto/model_config.pb.h"

namespace ps {
namespace {

constexpr int64_t kPool = 0;
constexpr int64_t kConfiguration[] = {
    64,  64,  kPool, 128, 128,   kPool, 256, 256, 256, 256,  kPool,
    512, 512, 512,   512, kPool, 512,   512, 512, 512, kPool};
constexpr int64_t kFeatureExtent = 7;
constexpr int64_t kMinExtent = 32;  // Halved five times.

std::unique_ptr<Layer> Linear(std::string name, int64_t in_features,
                              int64_t out_features) {
  AffineInitializers initializers;
  initializers.weight = Initializer::Normal(0.01);
  return NewLinearLayer(std::move(name), in_features, out_features,
                        initializers);
}

absl::StatusOr<std::unique_ptr<Model>> NewVgg19(const ModelOptions& options) {
  PS_RETURN_IF_ERROR(CheckImageTask(options.example, kMinExtent));
  const ClassifierConfig& config = options.config.classifier();
  const int64_t hidden = config.hidden_features();
  std::vector<std::unique_ptr<Layer>> layers;
  int64_t channels = options.example.channels;
  // ReLUs have their own numbers in PyTorch's list.
  int number = 0;
  for (const int64_t entry : kConfiguration) {
    if (entry == kPool) {
      layers.push_back(NewPoolingLayer(PoolingShape()));
      ++number;
      continue;
    }
    ConvolutionShape shape = SquareKernel(entry, 3);
    shape.bias = true;
    AffineInitializers initializers;
    initializers.weight = Initializer::HeNormal(FanOut(shape));
    layers.push_back(NewConvolutionLayer(absl::StrCat("features.", number),
                                         channels, shape, initializers));
    layers.push_back(NewReluLayer());
    channels = entry;
    number += 2;
  }
  layers.push_back(NewAdaptivePoolingLayer(kFeatureExtent, kFeatureExtent));
  layers.push_back(NewPlainOrderLayer());
  layers.push_back(Linear("classifier.0",
                          channels * kFeatureExtent * kFeatureExtent, hidden));
  layers.push_back(NewReluLayer());
  layers.push_back(NewDropoutLayer(config.dropout()));
  layers.push_back(Linear("classifier.3", hidden, hidden));
  layers.push_back(NewReluLayer());
  layers.push_back(NewDropoutLayer(config.dropout()));
  layers.push_back(Linear("classifier.6", hidden, options.example.num_classes));
  return NewSequentialModel(options, std::move(layers));
}

REGISTER_MODEL("vgg19",
               "images of 224 x 224: 16 convolutions, 144 M parameters",
               NewVgg19);

}  // namespace
}  // namespace ps
