// The layer of batch normalisation.
#ifndef MODELS_LAYERS_BATCH_NORM_H_
#define MODELS_LAYERS_BATCH_NORM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/layers/layer.h"
#include "tensor/nn_kernels.h"

namespace ps {

enum class AfterNorm { kNothing, kRelu };

struct BatchNormOptions {
  std::string name;
  int64_t channels = 0;
  AfterNorm after = AfterNorm::kNothing;
  // The epsilon of BatchNormShape.
  float epsilon = BatchNormShape().epsilon;
  float momentum = BatchNormShape().momentum;
  bool fixed_statistics = BatchNormShape().fixed_statistics;
};

// Creates the layer. Parameters, all [channels]: `name`.weight (initially 1)
// and `name`.bias (initially 0). Statistics: `name`.running_mean (0) and
// `name`.running_var (1), updated each time by `momentum` of the difference.
// The layer equals PyTorch's BatchNorm1d and BatchNorm2d, optionally followed
// by a ReLU.
std::unique_ptr<Layer> NewBatchNormLayer(const BatchNormOptions& options);

// Creates the layer with PyTorch's epsilon and momentum.
std::unique_ptr<Layer> NewBatchNormLayer(std::string name, int64_t channels,
                                         AfterNorm after);

// Returns the operation's shape, for layers that contain a batch normalisation.
BatchNormShape BatchNormShapeOf(const BatchNormOptions& options, bool training);
void DescribeBatchNorm(const BatchNormOptions& options, LayerConfigs* layers);
std::vector<LayerParameter> BatchNormParameters(const std::string& name,
                                                int64_t channels);
std::vector<LayerStatistic> BatchNormStatistics(const std::string& name,
                                                int64_t channels);
// The layer's kind in tables of time.
inline constexpr char kBatchNormKind[] = "batch_norm";

}  // namespace ps

#endif  // MODELS_LAYERS_BATCH_NORM_H_
