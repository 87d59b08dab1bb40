// Evaluation of weights on the test set.
#ifndef WORKER_EVALUATOR_H_
#define WORKER_EVALUATOR_H_

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/model.h"
#include "tensor/tensor.h"
#include "worker/evaluation.h"

namespace ps {

// Evaluates the whole set, in order. Text is processed in a few parallel rows,
// each of which carries its state from window to window. The few windows that
// do not fill all rows form a row of their own at the end. Errors:
// kFailedPrecondition for an empty set, and those of the model and the data.
absl::StatusOr<Evaluation> Evaluate(const Dataset& dataset,
                                    const Tensor& weights, Model* model);

}  // namespace ps

#endif  // WORKER_EVALUATOR_H_
