#include "worker/evaluator.h"

#include <algorithm>
#include <vector>

#include "common/status_macros.h"

namespace ps {
namespace {

// Large enough to keep the kernels busy, small enough to stay in the cache;
// fewer for large images.
constexpr int64_t kImages = 250;
constexpr int64_t kMaxPixels = 1 << 20;

// The fewer rows of text, the fewer windows begin without a past.
constexpr int64_t kTextRows = 10;

constexpr int64_t kRecordings = 16;

int64_t BatchSize(const ExampleShape& example, int64_t num_examples) {
  int64_t size = kRecordings;
  if (IsText(example.task)) size = kTextRows;
  if (example.task == Task::kImages) {
    size = std::clamp<int64_t>(kMaxPixels / example.num_elements(), 1, kImages);
  }
  return std::min(size, num_examples);
}

// Numbers of the examples of batch i.
std::vector<int64_t> Numbers(const Dataset& dataset, int64_t batch_size,
                             int64_t i) {
  std::vector<int64_t> numbers;
  if (dataset.order() == ExampleOrder::kSequential) {
    const int64_t row_length = dataset.size() / batch_size;
    if (i >= row_length) return numbers;
    for (int64_t row = 0; row < batch_size; ++row) {
      numbers.push_back(row * row_length + i);
    }
    return numbers;
  }
  const int64_t end = std::min((i + 1) * batch_size, dataset.size());
  for (int64_t n = i * batch_size; n < end; ++n) numbers.push_back(n);
  return numbers;
}

void Add(const BatchResult& result, BatchResult* sum) {
  sum->examples += result.examples;
  sum->targets += result.targets;
  sum->loss += result.loss * static_cast<double>(result.targets);
  sum->correct += result.correct;
  sum->correct_top5 += result.correct_top5;
  sum->character_errors += result.character_errors;
  sum->characters += result.characters;
  sum->word_errors += result.word_errors;
  sum->words += result.words;
}

}  // namespace

absl::StatusOr<Evaluation> Evaluate(const Dataset& dataset,
                                    const Tensor& weights, Model* model) {
  if (dataset.size() == 0) {
    return absl::FailedPreconditionError("the test set is empty");
  }
  const ExampleShape example = dataset.example_shape();
  const int64_t batch_size = BatchSize(example, dataset.size());
  Batch batch;
  BatchResult sum;
  for (int64_t i = 0;; ++i) {
    const std::vector<int64_t> numbers = Numbers(dataset, batch_size, i);
    if (numbers.empty()) break;
    // Test sets look the same in every epoch.
    PS_RETURN_IF_ERROR(dataset.Read(numbers, /*epoch=*/0, &batch));
    batch.continues = i > 0;
    PS_ASSIGN_OR_RETURN(const BatchResult result,
                        model->Evaluate(batch, weights));
    Add(result, &sum);
  }
  return EvaluationOf(example.task, sum);
}

}  // namespace ps
