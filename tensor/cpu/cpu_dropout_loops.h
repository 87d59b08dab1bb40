// Drops elements of one chunk of a vector, on one thread: the same elements on
// every machine.
#ifndef TENSOR_CPU_CPU_DROPOUT_LOOPS_H_
#define TENSOR_CPU_CPU_DROPOUT_LOOPS_H_

#include <cstdint>

namespace ps {

// Random draws are below 2^24.
inline constexpr int kDropoutDrawBits = 24;

struct DropoutChunk {
  uint64_t key = 0;        // This chunk's key.
  int32_t drop_below = 0;  // Elements with smaller draws become 0.
  float scale = 1;         // Applied to all other elements.
};

// Computes y[i] = x[i] scale, or 0, depending on the draw for (key, i). n is at
// most 2^31. y may be x.
void DropOut(const DropoutChunk& chunk, const float* x, int64_t n, float* y);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_DROPOUT_LOOPS_H_
