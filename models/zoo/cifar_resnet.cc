// ResNets for small images (He et al., "Deep residual learning for image
// recognition", CVPR 2016, section 4.2) with 6n + 2 layers: one convolution,
// three stages of n blocks with 16, 32 and 64 channels, and a linear
// classifier. Shortcuts have no weights (option A). Names and initial weights
// are those of the PyTorch version by Yerlan Idelbayev that most people train.

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

constexpr int64_t kKernel = 3;
constexpr int64_t kFirstChannels = 16;
constexpr int kStages = 3;
// This is halved twice, which leaves the last stage more than one pixel.
constexpr int64_t kMinExtent = 8;

std::unique_ptr<Layer> Convolution(std::string name, int64_t in_channels,
                                   int64_t out_channels, int64_t stride) {
  const ConvolutionShape shape = SquareKernel(out_channels, kKernel, stride);
  AffineInitializers initializers;
  initializers.weight = Initializer::HeNormal(FanIn(in_channels, shape));
  return NewConvolutionLayer(std::move(name), in_channels, shape, initializers);
}

std::unique_ptr<Layer> Block(const std::string& name, int64_t in_channels,
                             int64_t channels, int64_t stride) {
  ResidualBlockParts parts;
  parts.main.push_back(
      Convolution(absl::StrCat(name, ".conv1"), in_channels, channels, stride));
  parts.main.push_back(NewBatchNormLayer(absl::StrCat(name, ".bn1"), channels,
                                         AfterNorm::kRelu));
  parts.main.push_back(
      Convolution(absl::StrCat(name, ".conv2"), channels, channels, 1));
  parts.norm.name = absl::StrCat(name, ".bn2");
  parts.norm.channels = channels;
  if (stride != 1) {
    SubsamplingShape shape;
    shape.stride = stride;
    shape.out_channels = channels;
    parts.shortcut.push_back(NewSubsamplingLayer(shape));
  }
  return NewResidualBlock(std::move(parts));
}

absl::StatusOr<std::unique_ptr<Model>> NewCifarResnet(
    const ModelOptions& options, int blocks_per_stage) {
  PS_RETURN_IF_ERROR(CheckImageTask(options.example, kMinExtent));
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(
      Convolution("conv1", options.example.channels, kFirstChannels, 1));
  layers.push_back(NewBatchNormLayer("bn1", kFirstChannels, AfterNorm::kRelu));
  int64_t channels = kFirstChannels;
  for (int stage = 0; stage < kStages; ++stage) {
    for (int block = 0; block < blocks_per_stage; ++block) {
      const bool halves = stage > 0 && block == 0;
      const int64_t in_channels = channels;
      if (halves) channels *= 2;
      layers.push_back(Block(absl::StrCat("layer", stage + 1, ".", block),
                             in_channels, channels, halves ? 2 : 1));
    }
  }
  layers.push_back(NewGlobalPoolingLayer());
  AffineInitializers classifier = AffineInitializers::FanInUniform(channels);
  classifier.weight = Initializer::HeNormal(channels);
  layers.push_back(NewLinearLayer("linear", channels,
                                  options.example.num_classes, classifier));
  return NewSequentialModel(options, std::move(layers));
}

absl::StatusOr<std::unique_ptr<Model>> NewResnet20(
    const ModelOptions& options) {
  return NewCifarResnet(options, 3);
}

absl::StatusOr<std::unique_ptr<Model>> NewResnet56(
    const ModelOptions& options) {
  return NewCifarResnet(options, 9);
}

absl::StatusOr<std::unique_ptr<Model>> NewResnet110(
    const ModelOptions& options) {
  return NewCifarResnet(options, 18);
}

REGISTER_MODEL("resnet20",
               "images of 32 x 32: 20 layers with shortcuts, 270 k parameters",
               NewResnet20);
REGISTER_MODEL("resnet56",
               "images of 32 x 32: 56 layers with shortcuts, 853 k parameters",
               NewResnet56);
REGISTER_MODEL("resnet110",
               "images of 32 x 32: 110 layers with shortcuts, 1.7 M parameters",
               NewResnet110);

}  // namespace
}  // namespace ps
