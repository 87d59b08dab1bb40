// ResNets for ImageNet (He et al., "Deep residual learning for image
// recognition", CVPR 2016, table 1), with projections where a shortcut changes
// its shape (option B). Names and initial weights are those of torchvision's
// resnet18 and resnet50, which halve the size in the second convolution of a
// bottleneck.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/layers/affine_layers.h"
#include "models/layers/batch_norm.h"
#include "models/layers/convolution.h"
#include "models/layers/layer.h"
#include "models/layers/residual_block.h"
#include "models/layers/unary_layers.h"
#include "models/model.h"
#include "models/sequential_model.h"
#include "models/zoo/image_task.h"

namespace ps {
namespace {

constexpr int64_t kFirstChannels = 64;
constexpr int kStages = 4;
// The ratio of a bottleneck's output channels to its 3 x 3 convolution's.
constexpr int64_t kExpansion = 4;
// This is halved five times, rounding up: any size works that is not smaller
// than a kernel.
constexpr int64_t kMinExtent = 7;

struct BlockShape {
  int64_t in_channels = 0;
  int64_t channels = 0;  // The channels of its 3 x 3 convolutions.
  int64_t stride = 1;
};

using Layers = std::vector<std::unique_ptr<Layer>>;

std::unique_ptr<Layer> Convolution(std::string name, int64_t in_channels,
                                   const ConvolutionShape& shape) {
  AffineInitializers initializers;
  initializers.weight = Initializer::HeNormal(FanOut(shape));
  return NewConvolutionLayer(std::move(name), in_channels, shape, initializers);
}

std::unique_ptr<Layer> NormAndRelu(std::string name, int64_t channels) {
  return NewBatchNormLayer(std::move(name), channels, AfterNorm::kRelu);
}

// Creates a block whose main path ends in `norm` of `out_channels`.
std::unique_ptr<Layer> Residual(const std::string& name, const char* norm,
                                const BlockShape& block, int64_t out_channels,
                                Layers main) {
  ResidualBlockParts parts;
  parts.main = std::move(main);
  parts.norm.name = absl::StrCat(name, ".", norm);
  parts.norm.channels = out_channels;
  if (block.stride != 1 || block.in_channels != out_channels) {
    parts.shortcut.push_back(
        Convolution(absl::StrCat(name, ".downsample.0"), block.in_channels,
                    SquareKernel(out_channels, 1, block.stride)));
    parts.shortcut.push_back(
        NewBatchNormLayer(absl::StrCat(name, ".downsample.1"), out_channels,
                          AfterNorm::kNothing));
  }
  return NewResidualBlock(std::move(parts));
}

std::unique_ptr<Layer> BasicBlock(const std::string& name,
                                  const BlockShape& block) {
  Layers main;
  main.push_back(Convolution(absl::StrCat(name, ".conv1"), block.in_channels,
                             SquareKernel(block.channels, 3, block.stride)));
  main.push_back(NormAndRelu(absl::StrCat(name, ".bn1"), block.channels));
  main.push_back(Convolution(absl::StrCat(name, ".conv2"), block.channels,
                             SquareKernel(block.channels, 3)));
  return Residual(name, "bn2", block, block.channels, std::move(main));
}

std::unique_ptr<Layer> Bottleneck(const std::string& name,
                                  const BlockShape& block) {
  const int64_t out_channels = kExpansion * block.channels;
  Layers main;
  main.push_back(Convolution(absl::StrCat(name, ".conv1"), block.in_channels,
                             SquareKernel(block.channels, 1)));
  main.push_back(NormAndRelu(absl::StrCat(name, ".bn1"), block.channels));
  main.push_back(Convolution(absl::StrCat(name, ".conv2"), block.channels,
                             SquareKernel(block.channels, 3, block.stride)));
  main.push_back(NormAndRelu(absl::StrCat(name, ".bn2"), block.channels));
  main.push_back(Convolution(absl::StrCat(name, ".conv3"), block.channels,
                             SquareKernel(out_channels, 1)));
  return Residual(name, "bn3", block, out_channels, std::move(main));
}

// Adds the layers before the first block.
void AddStem(int64_t in_channels, Layers* layers) {
  layers->push_back(
      Convolution("conv1", in_channels, SquareKernel(kFirstChannels, 7, 2)));
  layers->push_back(NormAndRelu("bn1", kFirstChannels));
  PoolingShape pooling;
  pooling.window = 3;
  pooling.stride = 2;
  pooling.padding = 1;
  layers->push_back(NewPoolingLayer(pooling));
}

absl::StatusOr<std::unique_ptr<Model>> NewImagenetResnet(
    const ModelOptions& options,
    std::unique_ptr<Layer> (*new_block)(const std::string&, const BlockShape&),
    int64_t expansion, const std::array<int, kStages>& blocks) {
  PS_RETURN_IF_ERROR(CheckImageTask(options.example, kMinExtent));
  Layers layers;
  AddStem(options.example.channels, &layers);
  BlockShape block;
  block.in_channels = kFirstChannels;
  for (int stage = 0; stage < kStages; ++stage) {
    block.channels = kFirstChannels << stage;
    for (int i = 0; i < blocks[stage]; ++i) {
      block.stride = stage > 0 && i == 0 ? 2 : 1;
      layers.push_back(
          new_block(absl::StrCat("layer", stage + 1, ".", i), block));
      block.in_channels = expansion * block.channels;
    }
  }
  layers.push_back(NewGlobalPoolingLayer());
  layers.push_back(
      NewLinearLayer("fc", block.in_channels, options.example.num_classes));
  return NewSequentialModel(options, std::move(layers));
}

absl::StatusOr<std::unique_ptr<Model>> NewResnet18(
    const ModelOptions& options) {
  return NewImagenetResnet(options, BasicBlock, 1, {2, 2, 2, 2});
}

absl::StatusOr<std::unique_ptr<Model>> NewResnet50(
    const ModelOptions& options) {
  return NewImagenetResnet(options, Bottleneck, kExpansion, {3, 4, 6, 3});
}

REGISTER_MODEL(
    "resnet18",
    "images of 224 x 224: 18 layers with shortcuts, 11.7 M parameters",
    NewResnet18);
REGISTER_MODEL(
    "resnet50",
    "images of 224 x 224: 50 layers with shortcuts, 25.6 M parameters",
    NewResnet50);

}  // namespace
}  // namespace ps
