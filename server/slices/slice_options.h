// The options of a slice of weights.
#ifndef SERVER_SLICES_SLICE_OPTIONS_H_
#define SERVER_SLICES_SLICE_OPTIONS_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/log_limit.h"
#include "optimizers/optimizer.h"
#include "proto/config.pb.h"

namespace ps {

// The use of the workers' pushes by a slice.
enum class UpdateRule {
  kOptimizer,  // Gradients: the job's optimizer takes a step.
  kMean,       // Statistics: their mean is the new value.
  kExchange,   // Gradients: their mean is the answer (downlink.mode MEAN).
};

// Returns the name of a slice in logs and snapshots; unique within the model.
inline std::string SliceName(int bucket, int index) {
  return absl::StrCat("slice-", bucket, "-", index);
}

struct SliceOptions {
  const JobConfig* config = nullptr;  // Not owned; outlives the slice.
  int64_t num_elements = 0;
  int64_t total_updates = 0;  // The job's number of iterations.
  UpdateRule rule = UpdateRule::kOptimizer;
  // The segments of tensors that make up the slice. If empty, it is one tensor
  // of unknown shape.
  std::vector<TensorStretch> stretches;
  std::string name;  // The name returned by SliceName.
  // The number of the slice (Slice::number), which seeds random draws.
  int number = 0;
  // Becomes true when a process of the job is asked to end; null means never.
  // Not owned.
  const std::atomic<bool>* stop = nullptr;
  // Limits lines about unusual pushes; null: they are not logged. Not owned.
  LogLimit* about_pushes = nullptr;
};

}  // namespace ps

#endif  // SERVER_SLICES_SLICE_OPTIONS_H_
