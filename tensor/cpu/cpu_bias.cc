#include "tensor/cpu/cpu_bias.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_bias.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Computes sums[j] += rows[j] + rows[stride + j] + ..., in this order. Takes
// several rows at a time, so that the sums are not read and written for each
// row.
template <int kRows>
HWY_INLINE void AddRows(const float* rows, int64_t stride, int64_t n,
                        float* sums) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    auto sum = hn::LoadU(d, sums + j);
    for (int i = 0; i < kRows; ++i) {
      sum = hn::Add(sum, hn::LoadU(d, rows + i * stride + j));
    }
    hn::StoreU(sum, d, sums + j);
  }
  for (; j < n; ++j) {
    for (int i = 0; i < kRows; ++i) sums[j] += rows[i * stride + j];
  }
}

void AddRowsInOrder(const float* matrix, int64_t rows, int64_t stride,
                    int64_t n, float* sums) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4)
    AddRows<4>(matrix + i * stride, stride, n, sums);
  for (; i < rows; ++i) AddRows<1>(matrix + i * stride, stride, n, sums);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {
namespace {

constexpr int64_t kRowsPerChunk = 16;
// The number of columns whose sums stay in the L1 cache while the rows pass.
constexpr int64_t kColumnsPerChunk = 4096;

HWY_EXPORT(AddRowsInOrder);

}  // namespace

void AddToRows(ThreadPool* pool, const float* bias, int64_t rows,
               int64_t columns, float* matrix) {
  pool->ParallelFor(rows, kRowsPerChunk, [&](const ChunkRange& chunk) {
    for (int64_t i = chunk.begin; i < chunk.end; ++i) {
      HWY_DYNAMIC_DISPATCH(AddRowsInOrder)
      (bias, 1, 0, columns, matrix + i * columns);
    }
  });
}

void SumRows(ThreadPool* pool, const float* matrix, int64_t rows,
             int64_t columns, float* sums) {
  pool->ParallelFor(columns, kColumnsPerChunk, [&](const ChunkRange& chunk) {
    std::fill(sums + chunk.begin, sums + chunk.end, 0.0f);
    HWY_DYNAMIC_DISPATCH(AddRowsInOrder)
    (matrix + chunk.begin, rows, columns, chunk.end - chunk.begin,
     sums + chunk.begin);
  });
}

}  // namespace ps

#endif  // HWY_ONCE
