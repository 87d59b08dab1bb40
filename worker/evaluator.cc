#include "worker/evaluator.h"

#include <algorithm>
#include <vector>

#include "common/status_macros.h"

namespace ps {
namespace {

// The number of images per batch: large enough to keep the kernels busy, small
// enough to stay in the cache. Large images have smaller batches, by
// kMaxPixels.
constexpr int64_t kImages = 250;
constexpr int64_t kMaxPixels = 1 << 20;

// The number of rows of text. A row begins without context, so rows are few,
// and none of them is short.
constexpr int64_t kTextRows = 10;
constexpr int64_t kMinRowWindows = 20;

constexpr int64_t kRecordings = 16;

// There are fewer texts than images: their activations are larger.
constexpr int64_t kTextsInBatch = 50;

int64_t BatchSizeOf(const ExampleShape& example, int64_t num_examples) {
  int64_t size = kRecordings;
  if (TellsNextToken(example.task)) {
    return std::clamp<int64_t>(num_examples / kMinRowWindows, 1, kTextRows);
  }
  if (example.task == Task::kTexts) size = kTextsInBatch;
  if (example.task == Task::kImages) {
    size = std::clamp<int64_t>(kMaxPixels / example.num_elements(), 1, kImages);
  }
  return std::min(size, num_examples);
}

struct Part {
  std::vector<int64_t> numbers;  // The examples; empty when all are done.
  bool continues = false;
};

Part SequentialPart(int64_t size, int64_t rows, int64_t i) {
  Part part;
  // The last window may be shorter, and is read alone.
  const int64_t row_length = (size - 1) / rows;
  if (i < row_length) {
    for (int64_t row = 0; row < rows; ++row) {
      part.numbers.push_back(row * row_length + i);
    }
    part.continues = i > 0;
  } else if (rows * row_length + (i - row_length) < size) {
    // The windows that do not fill all rows form a row of their own at the end,
    // which continues a single row.
    part.numbers.push_back(rows * row_length + (i - row_length));
    part.continues = i > row_length || (rows == 1 && i > 0);
  }
  return part;
}

// Returns the examples of batch i.
Part PartOf(const Dataset& dataset, int64_t batch_size, int64_t i) {
  if (dataset.order() == ExampleOrder::kSequential) {
    return SequentialPart(dataset.size(), batch_size, i);
  }
  Part part;
  const int64_t end = std::min((i + 1) * batch_size, dataset.size());
  for (int64_t n = i * batch_size; n < end; ++n) part.numbers.push_back(n);
  return part;
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

int64_t EvaluationBatchSize(const Dataset& dataset) {
  return BatchSizeOf(dataset.example_shape(), dataset.size());
}

absl::StatusOr<Evaluation> Evaluate(const Dataset& dataset,
                                    const Tensor& weights, Model* model,
                                    const OutputsHandler& handler) {
  if (dataset.size() == 0) {
    return absl::FailedPreconditionError("the test set is empty");
  }
  const ExampleShape example = dataset.example_shape();
  const int64_t batch_size = EvaluationBatchSize(dataset);
  Batch batch;
  std::vector<float> outputs;
  BatchResult sum;
  for (int64_t i = 0;; ++i) {
    const Part part = PartOf(dataset, batch_size, i);
    if (part.numbers.empty()) break;
    // Test sets look the same in every epoch.
    PS_RETURN_IF_ERROR(dataset.Read(part.numbers, /*epoch=*/0, &batch));
    batch.continues = part.continues;
    PS_ASSIGN_OR_RETURN(const BatchResult result,
                        handler == nullptr
                            ? model->Evaluate(batch, weights)
                            : model->Predict(batch, weights, &outputs));
    Add(result, &sum);
    if (handler != nullptr) PS_RETURN_IF_ERROR(handler(batch, outputs));
  }
  return EvaluationOf(example, sum);
}

}  // namespace ps
