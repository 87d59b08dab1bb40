// Computes sums over one chunk of a vector, on one thread. Every machine gets
// the same bits, as in cpu_magnitude_loops.h.
#ifndef TENSOR_CPU_CPU_SUM_LOOPS_H_
#define TENSOR_CPU_CPU_SUM_LOOPS_H_

#include <cstdint>

namespace ps {

double SumValuesOfChunk(const float* u, int64_t n);

// Returns the sum of squares; not finite if any element is not finite.
double SumSquaresOfChunk(const float* u, int64_t n);

// Sums ln |u[i]| over the non-zero elements, to the rounding error of doubles.
double SumLogsOfChunk(const float* u, int64_t n);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_SUM_LOOPS_H_
