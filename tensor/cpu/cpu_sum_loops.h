// Sums over one chunk of a vector, on one thread; the same bits on every
// machine, as in cpu_magnitude_loops.h.
#ifndef TENSOR_CPU_CPU_SUM_LOOPS_H_
#define TENSOR_CPU_CPU_SUM_LOOPS_H_

#include <cstdint>

namespace ps {

double SumValuesOfChunk(const float* u, int64_t n);

// Not finite if an element is not.
double SumSquaresOfChunk(const float* u, int64_t n);

// ln |u[i]| over the non-zeros, to the rounding of doubles.
double SumLogsOfChunk(const float* u, int64_t n);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_SUM_LOOPS_H_
