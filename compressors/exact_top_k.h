// The k largest magnitudes, exactly; of equal ones those with the lower index.
#ifndef COMPRESSORS_EXACT_TOP_K_H_
#define COMPRESSORS_EXACT_TOP_K_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Finds them without sorting: the vector is read two or three times, and memory
// is proportional to k. Not thread-safe.
class ExactTopK {
 public:
  // `kernels` is not owned and outlives this.
  explicit ExactTopK(SparseKernels* kernels);

  // Replaces `selection` by the k largest of u, in ascending order of index.
  // k: at most n. All elements are finite.
  absl::Status Select(const float* u, int64_t n, int64_t k,
                      Selection* selection);

 private:
  SparseKernels* const kernels_;
  const std::unique_ptr<Sieve> sieve_;
};

// Keeps the k largest of `selection` (all, if it has no more).
void TrimToTopK(int64_t k, Selection* selection);

// The smallest magnitude; 0 if there is none.
float SmallestMagnitude(const Selection& selection);

}  // namespace ps

#endif  // COMPRESSORS_EXACT_TOP_K_H_
