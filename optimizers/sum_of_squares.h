// Computes sums of squares for layer-wise rules.
#ifndef OPTIMIZERS_SUM_OF_SQUARES_H_
#define OPTIMIZERS_SUM_OF_SQUARES_H_

#include <cstdint>

namespace ps {

// Returns the sum of (scale x[i])^2 over i in [0, n). The products with `scale`
// are floats, everything after that is double. The order of addition is fixed,
// so the same elements always give the same bits.
double SumOfSquares(const float* x, int64_t n, float scale = 1);

}  // namespace ps

#endif  // OPTIMIZERS_SUM_OF_SQUARES_H_
