// LeNet-5 (LeCun et al., "Gradient-based learning applied to document
// recognition", Proc. IEEE 1998, section II.B) in its usual modern form: ReLU,
// max pooling, full connections between the feature maps, and softmax.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "models/layers/affine_layers.h"
#include "models/layers/convolution.h"
#include "models/layers/layer.h"
#include "models/layers/unary_layers.h"
#include "models/model.h"
#include "models/sequential_model.h"
#include "models/zoo/image_task.h"

namespace ps {
namespace {

constexpr int64_t kConv1Channels = 6;
constexpr int64_t kConv2Channels = 16;
constexpr int64_t kKernel = 5;
constexpr int64_t kFc1Features = 120;
constexpr int64_t kFc2Features = 84;

// The second convolution and its pooling need at least this. The first
// convolution keeps the image's size, as it did for LeCun's digits of 28 x 28
// in a field of 32 x 32, and pooling halves it.
constexpr int64_t kMinExtent = 2 * (kKernel + 1);

// Returns the height or width of fc1's input, for an image of `extent`.
int64_t FeatureExtent(int64_t extent) {
  return (extent / 2 - (kKernel - 1)) / 2;
}

ConvolutionShape Convolution(int64_t out_channels, int64_t padding) {
  ConvolutionShape shape;
  shape.out_channels = out_channels;
  shape.kernel_height = kKernel;
  shape.kernel_width = kKernel;
  shape.padding = padding;
  return shape;
}

absl::StatusOr<std::unique_ptr<Model>> NewLenet5(const ModelOptions& options) {
  const ExampleShape& example = options.example;
  PS_RETURN_IF_ERROR(CheckImageTask(example, kMinExtent));
  const int64_t features = kConv2Channels * FeatureExtent(example.height) *
                           FeatureExtent(example.width);
  std::vector<std::unique_ptr<Layer>> layers;
  // ReLU and maximum commute, and after pooling the ReLU has only a quarter of
  // the work.
  layers.push_back(NewConvolutionLayer("conv1", example.channels,
                                       Convolution(kConv1Channels, 2)));
  layers.push_back(NewPoolingLayer(PoolingShape()));
  layers.push_back(NewReluLayer());
  layers.push_back(NewConvolutionLayer("conv2", kConv1Channels,
                                       Convolution(kConv2Channels, 0)));
  layers.push_back(NewPoolingLayer(PoolingShape()));
  layers.push_back(NewReluLayer());
  layers.push_back(NewPlainOrderLayer());
  layers.push_back(NewLinearLayer("fc1", features, kFc1Features));
  layers.push_back(NewReluLayer());
  layers.push_back(NewLinearLayer("fc2", kFc1Features, kFc2Features));
  layers.push_back(NewReluLayer());
  layers.push_back(NewLinearLayer("fc3", kFc2Features, example.num_classes));
  return NewSequentialModel(options, std::move(layers));
}

REGISTER_MODEL(
    "lenet5",
    "images of 28 x 28, grey or in colour: two convolutions, 62 k parameters",
    NewLenet5);

}  // namespace
}  // namespace ps
