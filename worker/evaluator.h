// How good the weights are on the test set.
#ifndef WORKER_EVALUATOR_H_
#define WORKER_EVALUATOR_H_

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/model.h"
#include "tensor/tensor.h"

namespace ps {

struct Evaluation {
  double accuracy = 0;  // Of all examples, in [0, 1].
  double loss = 0;      // Mean over all examples.
};

// Goes through the whole set, in order. Errors: kFailedPrecondition for an
// empty set, and what the model and the data report.
absl::StatusOr<Evaluation> Evaluate(const Dataset& dataset,
                                    const Tensor& weights, Model* model);

}  // namespace ps

#endif  // WORKER_EVALUATOR_H_
