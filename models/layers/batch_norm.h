// Batch normalisation as a layer.
#ifndef MODELS_LAYERS_BATCH_NORM_H_
#define MODELS_LAYERS_BATCH_NORM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/layers/layer.h"

namespace ps {

enum class AfterNorm { kNothing, kRelu };

// Parameters, all [channels]: `name`.weight (first 1) and `name`.bias (first
// 0); statistics: `name`.running_mean (0) and `name`.running_var (1), moved by
// a tenth of the difference each time. As PyTorch's BatchNorm1d and
// BatchNorm2d, followed by a ReLU or not.
std::unique_ptr<Layer> NewBatchNormLayer(std::string name, int64_t channels,
                                         AfterNorm after);

// For layers that have one inside.
std::vector<LayerParameter> BatchNormParameters(const std::string& name,
                                                int64_t channels);
std::vector<LayerStatistic> BatchNormStatistics(const std::string& name,
                                                int64_t channels);
// What they are called in tables of time.
inline constexpr char kBatchNormKind[] = "batch_norm";

}  // namespace ps

#endif  // MODELS_LAYERS_BATCH_NORM_H_
