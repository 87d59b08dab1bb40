// Statistics of a vector's magnitudes. Also used in device code.
#ifndef TENSOR_MOMENTS_H_
#define TENSOR_MOMENTS_H_

#include <cstdint>

namespace ps {

// The moments of the magnitudes a[i] = |u[i]|. The other fields are meaningless
// if num_non_finite is not 0.
struct Moments {
  int64_t num_nonzero = 0;
  int64_t num_non_finite = 0;  // The number of NaNs and infinities.
  double sum = 0;
  double sum_squares = 0;
  float max = 0;
  // The smallest non-zero magnitude; 0 if there is none.
  float min_nonzero = 0;
};

// The moments of the exceedances y = a[i] - location over all a[i] > location.
struct Exceedances {
  int64_t count = 0;
  double sum = 0;
  double sum_squares = 0;
};

}  // namespace ps

#endif  // TENSOR_MOMENTS_H_
