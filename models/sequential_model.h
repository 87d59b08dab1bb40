// Networks that are a chain of layers.
#ifndef MODELS_SEQUENTIAL_MODEL_H_
#define MODELS_SEQUENTIAL_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "models/layers/layer.h"
#include "models/layers/loss.h"
#include "models/model.h"

namespace ps {

// The layers, first to last; the last one's output is what the loss gets.
// `options`: example and backend. Errors: kInvalidArgument when the layers do
// not fit the examples, or each other, or have no parameters, or so many (2^32)
// that indices of a sparse gradient would not reach them.
absl::StatusOr<std::unique_ptr<Model>> NewSequentialModel(
    const ModelOptions& options, std::vector<std::unique_ptr<Layer>> layers,
    std::unique_ptr<Loss> loss = NewSoftmaxCrossEntropy());

}  // namespace ps

#endif  // MODELS_SEQUENTIAL_MODEL_H_
