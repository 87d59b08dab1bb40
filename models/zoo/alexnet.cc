// AlexNet in its version for one device (Krizhevsky, "One weird trick for
// parallelizing convolutional neural networks", arXiv 1404.5997). Names and
// initial weights are those of torchvision's alexnet. Like there, images of
// other sizes than 224 x 224 are averaged to 6 x 6 features.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

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

constexpr int64_t kFeatureExtent = 6;
// The first convolution and three poolings need at least this.
constexpr int64_t kMinExtent = 63;

std::unique_ptr<Layer> Convolution(const char* name, int64_t in_channels,
                                   int64_t out_channels, int64_t kernel) {
  ConvolutionShape shape = SquareKernel(out_channels, kernel);
  shape.bias = true;
  return NewConvolutionLayer(name, in_channels, shape);
}

std::unique_ptr<Layer> FirstConvolution(int64_t in_channels) {
  ConvolutionShape shape = SquareKernel(64, 11, 4);
  shape.padding = 2;
  shape.bias = true;
  return NewConvolutionLayer("features.0", in_channels, shape);
}

std::unique_ptr<Layer> Pooling() {
  PoolingShape shape;
  shape.window = 3;
  shape.stride = 2;
  return NewPoolingLayer(shape);
}

absl::StatusOr<std::unique_ptr<Model>> NewAlexnet(const ModelOptions& options) {
  const ExampleShape& example = options.example;
  PS_RETURN_IF_ERROR(CheckImageTask(example, kMinExtent));
  const ClassifierConfig& config = options.config.classifier();
  const int64_t hidden = config.hidden_features();
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(FirstConvolution(example.channels));
  layers.push_back(NewReluLayer());
  layers.push_back(Pooling());
  layers.push_back(Convolution("features.3", 64, 192, 5));
  layers.push_back(NewReluLayer());
  layers.push_back(Pooling());
  layers.push_back(Convolution("features.6", 192, 384, 3));
  layers.push_back(NewReluLayer());
  layers.push_back(Convolution("features.8", 384, 256, 3));
  layers.push_back(NewReluLayer());
  layers.push_back(Convolution("features.10", 256, 256, 3));
  layers.push_back(NewReluLayer());
  layers.push_back(Pooling());
  layers.push_back(NewAdaptivePoolingLayer(kFeatureExtent, kFeatureExtent));
  layers.push_back(NewPlainOrderLayer());
  layers.push_back(NewDropoutLayer(config.dropout()));
  layers.push_back(NewLinearLayer(
      "classifier.1", 256 * kFeatureExtent * kFeatureExtent, hidden));
  layers.push_back(NewReluLayer());
  layers.push_back(NewDropoutLayer(config.dropout()));
  layers.push_back(NewLinearLayer("classifier.4", hidden, hidden));
  layers.push_back(NewReluLayer());
  layers.push_back(NewLinearLayer("classifier.6", hidden, example.num_classes));
  return NewSequentialModel(options, std::move(layers));
}

REGISTER_MODEL("alexnet",
               "images of 224 x 224: five convolutions, 61 M parameters",
               NewAlexnet);

}  // namespace
}  // namespace ps
