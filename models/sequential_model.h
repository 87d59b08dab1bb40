// Creates models that are a chain of layers.
#ifndef MODELS_SEQUENTIAL_MODEL_H_
#define MODELS_SEQUENTIAL_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "models/layers/layer.h"
#include "models/layers/loss.h"
#include "models/model.h"

namespace ps {

// Creates a model of layers, first to last; the output of the last one goes to
// the loss. Uses the example and the backend of `options`. Errors:
// kInvalidArgument if the layers do not fit the examples or each other, or have
// no parameters, or 2^32 or more, which indices of a sparse gradient cannot
// address.
absl::StatusOr<std::unique_ptr<Model>> NewSequentialModel(
    const ModelOptions& options, std::vector<std::unique_ptr<Layer>> layers,
    std::unique_ptr<Loss> loss = NewSoftmaxCrossEntropy());

}  // namespace ps

#endif  // MODELS_SEQUENTIAL_MODEL_H_
