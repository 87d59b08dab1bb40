#include "compressors/scalecom/tensor_rates.h"

#include <algorithm>

#include "compressors/chunks/chunk_layout.h"

namespace ps {

bool IsSentWhole(const TensorSpan& tensor, const ScaleComConfig& config) {
  return tensor.shape.size() < 2 ||
         NumElements(tensor.shape) < config.dense_below() ||
         (tensor.first && config.dense_first());
}

int64_t RateForUses(int64_t uses) {
  // Maps of 14 x 14, with 196 uses, belong to the middle rate: with them at 25,
  // ResNet18 would be compressed 82 times instead of the paper's 112.
  if (uses > 196) return 25;
  return uses > 128 ? 50 : 400;
}

std::vector<ChunkRun> TensorRates(const CompressorOptions& options) {
  const ScaleComConfig& config = options.config.scalecom();
  const int64_t most = ChunkSizeFor(options.config.ratio());
  const auto rate = [&config, most](int64_t uses) {
    return config.rates() == ScaleComConfig::BY_USES
               ? std::min(most, RateForUses(uses))
               : most;
  };
  std::vector<ChunkRun> rates;
  for (const TensorSpan& tensor : options.tensors) {
    ChunkRun run;
    run.size = NumElements(tensor.shape);
    if (!IsSentWhole(tensor, config)) run.chunk_size = rate(tensor.uses);
    if (run.size > 0) rates.push_back(run);
  }
  if (options.tensors.empty() && options.dense_size > 0) {
    rates.push_back({rate(1), options.dense_size});
  }
  return rates;
}

}  // namespace ps
