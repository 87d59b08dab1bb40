#include "optimizers/sum_of_squares.h"

#include <algorithm>

namespace ps {
namespace {

// The number of elements per partial sum. Partial sums keep the rounding error
// small for large n.
constexpr int64_t kChunk = 4096;
// The number of independent sums for vector instructions: the compiler may not
// reorder additions by itself.
constexpr int kLanes = 16;

double ChunkSum(const float* x, int64_t n, float scale) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = x[i + lane] * scale;
      lanes[lane] += value * value;
    }
  }
  for (; i < n; ++i) {
    const double value = x[i] * scale;
    lanes[i % kLanes] += value * value;
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

double SumOfSquares(const float* x, int64_t n, float scale) {
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    sum += ChunkSum(x + begin, std::min(kChunk, n - begin), scale);
  }
  return sum;
}

}  // namespace ps
