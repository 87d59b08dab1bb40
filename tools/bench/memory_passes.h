// The plainest passes over memory, as bounds for everything that makes them.
#ifndef TOOLS_BENCH_MEMORY_PASSES_H_
#define TOOLS_BENCH_MEMORY_PASSES_H_

#include <cstdint>

namespace ps {

// sum[i] += x[i]: reads 8 bytes an element and writes 4.
void AddPass(const float* x, int64_t n, float* sum);

// The sum of |x[i]|, in float: reads 4 bytes an element.
double SumMagnitudesPass(const float* x, int64_t n);

}  // namespace ps

#endif  // TOOLS_BENCH_MEMORY_PASSES_H_
