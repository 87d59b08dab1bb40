#include "worker/evaluator.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/status_macros.h"

namespace ps {
namespace {

// Large enough to keep the kernels busy, small enough to stay in the cache.
constexpr int64_t kBatchSize = 250;

}  // namespace

absl::StatusOr<Evaluation> Evaluate(const Dataset& dataset,
                                    const Tensor& weights, Model* model) {
  if (dataset.size() == 0) {
    return absl::FailedPreconditionError("the test set is empty");
  }
  Batch batch;
  std::vector<int64_t> numbers;
  double loss = 0;
  int64_t correct = 0;
  for (int64_t begin = 0; begin < dataset.size(); begin += kBatchSize) {
    numbers.resize(std::min(kBatchSize, dataset.size() - begin));
    std::iota(numbers.begin(), numbers.end(), begin);
    PS_RETURN_IF_ERROR(dataset.Read(numbers, &batch));
    PS_ASSIGN_OR_RETURN(const BatchResult result,
                        model->Evaluate(batch, weights));
    loss += result.loss * static_cast<double>(result.examples);
    correct += result.correct;
  }
  Evaluation evaluation;
  const double size = static_cast<double>(dataset.size());
  evaluation.accuracy = static_cast<double>(correct) / size;
  evaluation.loss = loss / size;
  return evaluation;
}

}  // namespace ps
