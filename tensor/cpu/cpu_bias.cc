#include "tensor/cpu/cpu_bias.h"

#include <algorithm>

namespace ps {
namespace {

// Of the vector's columns: they stay in the L1 cache while the rows pass.
constexpr int64_t kColumnsPerChunk = 2048;

}  // namespace

void AddToRows(ThreadPool* pool, const float* bias, int64_t rows,
               int64_t columns, float* matrix) {
  pool->ParallelFor(columns, kColumnsPerChunk, [&](const ChunkRange& chunk) {
    for (int64_t i = 0; i < rows; ++i) {
      float* const row = matrix + i * columns;
      for (int64_t j = chunk.begin; j < chunk.end; ++j) row[j] += bias[j];
    }
  });
}

void SumRows(ThreadPool* pool, const float* matrix, int64_t rows,
             int64_t columns, float* sums) {
  pool->ParallelFor(columns, kColumnsPerChunk, [&](const ChunkRange& chunk) {
    std::fill(sums + chunk.begin, sums + chunk.end, 0);
    for (int64_t i = 0; i < rows; ++i) {
      const float* const row = matrix + i * columns;
      for (int64_t j = chunk.begin; j < chunk.end; ++j) sums[j] += row[j];
    }
  });
}

}  // namespace ps
