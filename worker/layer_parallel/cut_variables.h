// The interface of the auxiliary variables of a cut.
#ifndef WORKER_LAYER_PARALLEL_CUT_VARIABLES_H_
#define WORKER_LAYER_PARALLEL_CUT_VARIABLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/batch.h"
#include "compressors/state_io.h"
#include "worker/layer_parallel/parallel_step.h"

namespace ps {

// The examples of a batch. Not owned.
struct Examples {
  absl::Span<const int64_t> numbers;
  const Batch* batch = nullptr;
};

// The variables of a cut. Not thread-safe.
class CutVariables {
 public:
  virtual ~CutVariables() = default;

  // Fills cut->variables and, if there are any, cut->multipliers.
  virtual absl::Status Fetch(const Examples& examples, CutBatch* cut) = 0;
  // Takes the result of ParallelStep for the values that Fetch gave last.
  virtual absl::Status Store(const Examples& examples, const CutBatch& cut) = 0;

  // Takes the activations at the cut and the gradient there, in serial phases,
  // per example, [batch, row_size] each; the first examples.numbers.size()
  // rows.
  virtual absl::Status Record(const Examples& examples,
                              const std::vector<float>& activations,
                              const std::vector<float>& gradient) = 0;
  // Save and load the state for snapshots. Errors of Load: kDataLoss.
  virtual void Save(StateWriter* state) const = 0;
  virtual absl::Status Load(StateReader* state) = 0;
};

// Creates variables that are kept for each example, and multipliers too if
// options.multipliers. The first Record can fail with kResourceExhausted.
std::unique_ptr<CutVariables> NewStoredVariables(const CutOptions& options,
                                                 int64_t num_examples);
// Returns the bytes that these take.
int64_t StoredBytes(const CutOptions& options, int64_t num_examples);

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_CUT_VARIABLES_H_
