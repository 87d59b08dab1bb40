// What a slice of weights is told when it is made.
#ifndef SERVER_SLICES_SLICE_OPTIONS_H_
#define SERVER_SLICES_SLICE_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "proto/config.pb.h"
#include "server/optimizers/optimizer.h"

namespace ps {

// What becomes of the workers' pushes.
enum class UpdateRule {
  kOptimizer,  // Gradients: the job's optimizer takes a step.
  kMean,       // Statistics: their mean is the new value.
};

struct SliceOptions {
  const JobConfig* config = nullptr;  // Not owned; outlives the slice.
  int64_t num_elements = 0;
  int64_t total_updates = 0;  // The job's number of iterations.
  UpdateRule rule = UpdateRule::kOptimizer;
  // The tensors' parts that make up the slice. Empty: one of unknown shape.
  std::vector<TensorStretch> stretches;
  // Unlike that of any other slice of the server; for random draws.
  int number = 0;
};

}  // namespace ps

#endif  // SERVER_SLICES_SLICE_OPTIONS_H_
