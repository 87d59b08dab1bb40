// VGG-16 for small images: the 13 convolutions of configuration D (Simonyan and
// Zisserman, "Very deep convolutional networks for large-scale image
// recognition", ICLR 2015), each with batch normalisation, and one linear
// classifier, as papers on gradient compression train it on CIFAR-10. Names and
// initial weights are those of the usual PyTorch version by kuangliu, which is
// for 32 x 32 images; larger ones are averaged before the classifier.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/layers/affine_layers.h"
#include "models/layers/batch_norm.h"
#include "models/layers/convolution.h"
#include "models/layers/layer.h"
#include "models/layers/unary_layers.h"
#include "models/model.h"
#include "models/sequential_model.h"
#include "models/zoo/image_task.h"

namespace ps {
namespace {

constexpr int64_t kPool = 0;
constexpr int64_t kConfiguration[] = {64,  64,    kPool, 128,   128, kPool,
                                      256, 256,   256,   kPool, 512, 512,
                                      512, kPool, 512,   512,   512, kPool};
constexpr int64_t kMinExtent = 32;  // Halved five times.

absl::StatusOr<std::unique_ptr<Model>> NewVgg16(const ModelOptions& options) {
  PS_RETURN_IF_ERROR(CheckImageTask(options.example, kMinExtent));
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
    layers.push_back(NewConvolutionLayer(absl::StrCat("features.", number),
                                         channels, shape));
    layers.push_back(NewBatchNormLayer(absl::StrCat("features.", number + 1),
                                       entry, AfterNorm::kRelu));
    channels = entry;
    number += 3;
  }
  layers.push_back(NewGlobalPoolingLayer());
  layers.push_back(
      NewLinearLayer("classifier", channels, options.example.num_classes));
  return NewSequentialModel(options, std::move(layers));
}

REGISTER_MODEL("vgg16",
               "images of 32 x 32: 13 convolutions with batch normalisation, "
               "14.7 M parameters",
               NewVgg16);

}  // namespace
}  // namespace ps
