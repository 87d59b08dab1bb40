// Counts the uses of a model's weights.
#ifndef MODELS_DESCRIBED_WEIGHT_USES_H_
#define MODELS_DESCRIBED_WEIGHT_USES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "models/model.h"

namespace ps {

// Returns for each of model.parameters() how often each of its weights is used
// for one example: in a convolution once for each position of its output,
// otherwise once, also in recurrent layers. Errors: kInternal if the model does
// not describe itself.
absl::StatusOr<std::vector<int64_t>> WeightUses(const Model& model,
                                                const ExampleShape& example);

}  // namespace ps

#endif  // MODELS_DESCRIBED_WEIGHT_USES_H_
