// How good the weights are on the test set.
#ifndef WORKER_EVALUATOR_H_
#define WORKER_EVALUATOR_H_

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/model.h"
#include "tensor/tensor.h"
#include "worker/evaluation.h"

namespace ps {

// Goes through the whole set, in order. Text runs in a few rows side by side,
// each with the state that it carries from window to window; the few windows
// that would make the rows uneven are a row of their own at the end. Errors:
// kFailedPrecondition for an empty set, and what the model and the data report.
absl::StatusOr<Evaluation> Evaluate(const Dataset& dataset,
                                    const Tensor& weights, Model* model);

}  // namespace ps

#endif  // WORKER_EVALUATOR_H_
