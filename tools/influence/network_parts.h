// Networks that are made of parts of another one, for its weights.
#ifndef TOOLS_INFLUENCE_NETWORK_PARTS_H_
#define TOOLS_INFLUENCE_NETWORK_PARTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "models/model.h"
#include "tensor/tensor.h"
#include "tools/influence/gradient_products.h"

namespace ps {

// Everything before the last layer, which is linear.
struct FeatureNetwork {
  // Null if nothing but flattening comes before it: features are inputs then.
  std::unique_ptr<Model> model;  // Has a feature where others have a class.
  Tensor weights;
  int64_t num_features = 0;
};

// Errors: kInvalidArgument if the last layer is not linear with its own weight,
// or if the layers before it have no weights but are no mere flattening.
absl::StatusOr<FeatureNetwork> NewFeatureNetwork(const ModelAtCheckpoint& at);

// What the last layer is given: [batch, num_features]. Errors: those of
// Model::Predict, and kInvalidArgument for a label that is not in [0,
// num_classes).
absl::StatusOr<std::vector<float>> Features(const Batch& batch,
                                            int64_t num_classes,
                                            FeatureNetwork* network);

// A network for the same weights whose training steps compute what an
// evaluation computes: without dropout, and with the checkpoint's statistics.
absl::StatusOr<std::unique_ptr<Model>> NewNetworkAsEvaluated(
    const ModelAtCheckpoint& at);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_NETWORK_PARTS_H_
