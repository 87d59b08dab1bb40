// Creates the models whose memory is measured, and batches for them.
#ifndef BENCHMARKS_MODEL_MEMORY_MEMORY_CASES_H_
#define BENCHMARKS_MODEL_MEMORY_MEMORY_CASES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/batch.h"
#include "proto/model_config.pb.h"

namespace ps {

struct MemoryCase {
  ModelConfig config;
  ExampleShape example;
  int64_t batch_size = 0;  // The batch size of the papers.
};

// Returns a case. "lstm_lm" is the model of 2 x 1500 units on the Penn
// Treebank; every other model is an image network with ImageNet's shapes.
// Errors: kInvalidArgument for an unknown name.
absl::StatusOr<MemoryCase> FindMemoryCase(absl::string_view model);

// Returns a random batch of images or text.
Batch RandomBatch(const ExampleShape& example, int64_t size);

}  // namespace ps

#endif  // BENCHMARKS_MODEL_MEMORY_MEMORY_CASES_H_
