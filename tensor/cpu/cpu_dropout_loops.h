// Dropout of one chunk of a vector, on one thread; the same elements on every
// machine.
#ifndef TENSOR_CPU_CPU_DROPOUT_LOOPS_H_
#define TENSOR_CPU_CPU_DROPOUT_LOOPS_H_

#include <cstdint>

namespace ps {

// Draws are below 2^24.
inline constexpr int kDropoutDrawBits = 24;

struct DropoutChunk {
  uint64_t key = 0;        // Of this chunk.
  int32_t drop_below = 0;  // Elements with smaller draws become 0.
  float scale = 1;         // Of the others.
};

// y[i] = x[i] scale, or 0, by the draw of (key, i). n is at most 2^31. In place
// where y is x.
void DropOut(const DropoutChunk& chunk, const float* x, int64_t n, float* y);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_DROPOUT_LOOPS_H_
