// Which examples a worker reads in an iteration: a pure function.
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
  int64_t batch_size = 0;  // Per worker.
  int num_workers = 0;
};

// N workers together read what one worker with an N times larger batch reads,
// in either order.
//
// kShuffled: every epoch has its own permutation of all examples, a function of
// (seed, epoch) alone. Iteration i of an epoch takes the next num_workers x
// batch_size of them, and rank r the r-th batch_size of those. What does not
// fill a last global batch is left out of that epoch.
//
// kSequential: the examples, in their order, are cut into num_workers x
// batch_size streams of equal length. Row b of rank r reads stream
// r x batch_size + b from its beginning to its end, in every epoch. What does
// not fill the streams, at the end of the set, is never read.
//
// Not thread-safe (it keeps the current epoch's permutation); copies are
// independent.
class Sampler {
 public:
  // Errors: kInvalidArgument when a size is below 1, or one global batch needs
  // more examples than there are.
  static absl::StatusOr<Sampler> Create(const SamplerOptions& options);

  int64_t iterations_per_epoch() const;

  // The example numbers of worker `rank` in global iteration `iteration`
  // (counted from 0 over all epochs). Valid until the next call.
  absl::Span<const int64_t> Numbers(int64_t iteration, int rank);

  // True if each row of iteration `iteration` goes on where the same row of the
  // iteration before ended: kSequential, within an epoch.
  bool Continues(int64_t iteration) const;

 private:
  explicit Sampler(const SamplerOptions& options) : options_(options) {}

  void FillSequential(int64_t iteration_of_epoch, int rank);

  SamplerOptions options_;
  int64_t epoch_ = -1;                // Of permutation_.
  std::vector<int64_t> permutation_;  // kShuffled: [num_examples]
  std::vector<int64_t> sequential_;   // kSequential: [batch_size]
};

}  // namespace ps

#endif  // DATA_SAMPLER_H_
