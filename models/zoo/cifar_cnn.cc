// The small network for CIFAR-10 that came with Caffe as "cifar10_quick": three
// 5 x 5 convolutions with 32, 32 and 64 channels, each with pooling, and two
// linear layers. Caffe's initial weights were made for inputs in [-128, 128];
// here inputs are of unit size, so the initial weights are PyTorch's defaults.
// Caffe rounds up if pooling windows do not fit; a padding of 1 gives the same
// sizes.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

constexpr int64_t kKernel = 5;
constexpr int64_t kChannels[] = {32, 32, 64};
constexpr int64_t kHiddenFeatures = 64;
constexpr int64_t kMinExtent = 8;

std::unique_ptr<Layer> Pooling(PoolingShape::Kind kind) {
  PoolingShape shape;
  shape.kind = kind;
  shape.window = 3;
  shape.stride = 2;
  shape.padding = 1;
  return NewPoolingLayer(shape);
}

// Returns the height or width after three poolings.
int64_t FeatureExtent(int64_t extent) { return (extent + 7) / 8; }

absl::StatusOr<std::unique_ptr<Model>> NewCifarCnn(
    const ModelOptions& options) {
  const ExampleShape& example = options.example;
  PS_RETURN_IF_ERROR(CheckImageTask(example, kMinExtent));
  std::vector<std::unique_ptr<Layer>> layers;
  int64_t channels = example.channels;
  for (int i = 0; i < 3; ++i) {
    ConvolutionShape shape = SquareKernel(kChannels[i], kKernel);
    shape.bias = true;
    layers.push_back(
        NewConvolutionLayer(absl::StrCat("conv", i + 1), channels, shape));
    channels = kChannels[i];
    // The first one pools before its ReLU, which gives the same result faster.
    if (i == 0) {
      layers.push_back(Pooling(PoolingShape::Kind::kMax));
      layers.push_back(NewReluLayer());
    } else {
      layers.push_back(NewReluLayer());
      layers.push_back(Pooling(PoolingShape::Kind::kAverage));
    }
  }
  layers.push_back(NewPlainOrderLayer());
  layers.push_back(NewLinearLayer(
      "ip1",
      channels * FeatureExtent(example.height) * FeatureExtent(example.width),
      kHiddenFeatures));
  layers.push_back(NewLinearLayer("ip2", kHiddenFeatures, example.num_classes));
  return NewSequentialModel(options, std::move(layers));
}

REGISTER_MODEL("cifar_cnn",
               "images of 32 x 32: three convolutions, 146 k parameters",
               NewCifarCnn);

}  // namespace
}  // namespace ps
