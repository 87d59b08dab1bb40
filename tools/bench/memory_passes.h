// The simplest passes over memory, as bounds for everything that makes such
// passes.
#ifndef TOOLS_BENCH_MEMORY_PASSES_H_
#define TOOLS_BENCH_MEMORY_PASSES_H_

#include <cstdint>

namespace ps {

// sum[i] += x[i]. Reads 8 bytes per element and writes 4.
void AddPass(const float* x, int64_t n, float* sum);

// The sum of |x[i]|, in float. Reads 4 bytes per element.
double SumMagnitudesPass(const float* x, int64_t n);

}  // namespace ps

#endif  // TOOLS_BENCH_MEMORY_PASSES_H_
