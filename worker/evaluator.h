// Evaluates weights on the test set.
#ifndef WORKER_EVALUATOR_H_
#define WORKER_EVALUATOR_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/batch.h"
#include "data/dataset.h"
#include "models/model.h"
#include "tensor/tensor.h"
#include "worker/records/evaluation.h"

namespace ps {

// Receives a batch that was evaluated, and the outputs of the model's last
// layer (Model::Predict).
using OutputsHandler = std::function<absl::Status(
    const Batch& batch, const std::vector<float>& outputs)>;

// Returns the maximum number of examples in a batch of Evaluate.
int64_t EvaluationBatchSize(const Dataset& dataset);

// Evaluates the whole set, in order. Text is processed in parallel rows, one
// for every 20 windows and at most 10, each of which carries its state from
// window to window. The few windows that do not fill all rows form a row of
// their own at the end. Every token but the first is a target. Errors:
// kFailedPrecondition for an empty set, and those of the model, the data and
// the handler, which may be null.
absl::StatusOr<Evaluation> Evaluate(const Dataset& dataset,
                                    const Tensor& weights, Model* model,
                                    const OutputsHandler& handler = nullptr);

}  // namespace ps

#endif  // WORKER_EVALUATOR_H_
