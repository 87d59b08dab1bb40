// Chooses the examples that a worker reads in an iteration, as a pure function.
#ifndef DATA_SAMPLER_H_
#define DATA_SAMPLER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "data/example_order.h"

namespace ps {

struct SamplerOptions {
  ExampleOrder order = ExampleOrder::kShuffled;
  uint64_t seed = 0;
  int64_t num_examples = 0;
  int64_t batch_size = 0;  // The size of a worker's batch.
  int num_workers = 0;
};

// Samples examples so that N workers together read the same examples as one
// worker with an N times larger batch, in either order.
//
// kShuffled: every epoch has its own permutation of all examples, a function of
// (seed, epoch) alone. Iteration i of an epoch takes the next num_workers x
// batch_size of them, and rank r takes the r-th batch_size of those. Examples
// left over after the last full global batch are skipped in that epoch.
//
// kSequential: the examples, in their order, are cut into num_workers x
// batch_size streams of equal length. Row b of rank r reads stream r x
// batch_size + b from beginning to end. The examples left over are those at the
// end of the set in even epochs and those at its beginning in odd ones, so that
// two epochs read every example.
//
// Not thread-safe (it keeps the current epoch's permutation); copies are
// independent.
class Sampler {
 public:
  // Creates a sampler. Errors: kInvalidArgument if a size is below 1, or if one
  // global batch needs more examples than there are.
  static absl::StatusOr<Sampler> Create(const SamplerOptions& options);

  int64_t iterations_per_epoch() const;

  // Returns the example numbers of worker `rank` in global iteration
  // `iteration` (counted from 0 over all epochs). Valid until the next call.
  absl::Span<const int64_t> Numbers(int64_t iteration, int rank);

  // Returns true if each row of iteration `iteration` continues the same row of
  // the previous iteration: with kSequential, within an epoch.
  bool Continues(int64_t iteration) const;

 private:
  explicit Sampler(const SamplerOptions& options) : options_(options) {}

  void FillSequential(int64_t iteration, int rank);

  SamplerOptions options_;
  int64_t epoch_ = -1;                // The epoch of permutation_.
  std::vector<int64_t> permutation_;  // kShuffled: [num_examples]
  std::vector<int64_t> sequential_;   // kSequential: [batch_size]
};

}  // namespace ps

#endif  // DATA_SAMPLER_H_
