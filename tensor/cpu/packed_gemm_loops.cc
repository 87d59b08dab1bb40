#include "tensor/cpu/packed_gemm_loops.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/packed_gemm_loops.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, kPanelColumns>;

constexpr int kLanes =
    HWY_LANES(float) < kPanelColumns ? HWY_LANES(float) : kPanelColumns;
// The number of vectors per row of the panel.
constexpr int kVectors = kPanelColumns / kLanes;
// Twelve accumulators, two loads and a broadcast use 15 of the 16 registers of
// AVX2, and hide the four-cycle latency of two multiply-adds per cycle.
constexpr int kMaxRows = kVectors > 12 ? 1 : 12 / kVectors;

// Multiplies kRows rows of A, at most kMaxRows.
template <int kRows>
HWY_INLINE void MultiplyTile(const PanelProduct& p, int64_t row) {
  const FloatTag d;
  hn::Vec<FloatTag> sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  const float* const a = p.a + row * p.a_stride;
  const float* panel = p.panel;
  for (int64_t k = 0; k < p.k; ++k, panel += kPanelColumns) {
    hn::Vec<FloatTag> b[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) b[v] = hn::Load(d, panel + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const auto x = hn::Set(d, a[r * p.a_stride + k]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
      }
    }
  }
  float* const c = p.c + row * p.c_stride;
  if (p.columns == kPanelColumns) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        float* const to = c + r * p.c_stride + v * kLanes;
        if (p.accumulate) sums[r][v] = hn::Add(sums[r][v], hn::LoadU(d, to));
        hn::StoreU(sums[r][v], d, to);
      }
    }
    return;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    HWY_ALIGN float values[kPanelColumns];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sums[r][v], d, values + v * kLanes);
    }
    float* const to = c + r * p.c_stride;
    for (int64_t j = 0; j < p.columns; ++j) {
      to[j] = p.accumulate ? to[j] + values[j] : values[j];
    }
  }
}

// Calls MultiplyTile<rows>.
template <int kRows>
HWY_INLINE void MultiplyRows(const PanelProduct& p, int64_t row, int64_t rows) {
  if constexpr (kRows > 0) {
    if (rows == kRows) {
      MultiplyTile<kRows>(p, row);
    } else {
      MultiplyRows<kRows - 1>(p, row, rows);
    }
  }
}

void RunMultiplyPanel(const PanelProduct& p) {
  // Even tiles are best: a tile of few rows leaves the multipliers idle.
  int64_t tiles = (p.m + kMaxRows - 1) / kMaxRows;
  for (int64_t row = 0; row < p.m; --tiles) {
    const int64_t rows = (p.m - row + tiles - 1) / tiles;
    MultiplyRows<kMaxRows>(p, row, rows);
    row += rows;
  }
}

// Packs four columns of the panel, from four rows of B's transpose.
HWY_INLINE void PackFourColumns(const PanelPacking& p, int64_t column) {
  const float* const b = p.b + column * p.stride;
  float* const panel = p.panel + column;
  int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d;
  for (; k + 4 <= p.rows; k += 4) {
    const auto b0 = hn::LoadU(d, b + k);
    const auto b1 = hn::LoadU(d, b + k + p.stride);
    const auto b2 = hn::LoadU(d, b + k + 2 * p.stride);
    const auto b3 = hn::LoadU(d, b + k + 3 * p.stride);
    const auto low01 = hn::InterleaveLower(d, b0, b1);
    const auto low23 = hn::InterleaveLower(d, b2, b3);
    const auto high01 = hn::InterleaveUpper(d, b0, b1);
    const auto high23 = hn::InterleaveUpper(d, b2, b3);
    float* const to = panel + k * kPanelColumns;
    hn::Store(hn::ConcatLowerLower(d, low23, low01), d, to);
    hn::Store(hn::ConcatUpperUpper(d, low23, low01), d, to + kPanelColumns);
    hn::Store(hn::ConcatLowerLower(d, high23, high01), d,
              to + 2 * kPanelColumns);
    hn::Store(hn::ConcatUpperUpper(d, high23, high01), d,
              to + 3 * kPanelColumns);
  }
#endif
  for (; k < p.rows; ++k) {
    for (int64_t j = 0; j < 4; ++j) {
      panel[k * kPanelColumns + j] = b[k + j * p.stride];
    }
  }
}

void RunPackPanel(const PanelPacking& p) {
  if (p.columns < kPanelColumns) {
    std::fill_n(p.panel, p.rows * kPanelColumns, 0.0f);
  }
  if (!p.transposed) {
    for (int64_t k = 0; k < p.rows; ++k) {
      std::copy_n(p.b + k * p.stride, p.columns, p.panel + k * kPanelColumns);
    }
    return;
  }
  int64_t column = 0;
  for (; column + 4 <= p.columns; column += 4) PackFourColumns(p, column);
  for (; column < p.columns; ++column) {
    for (int64_t k = 0; k < p.rows; ++k) {
      p.panel[k * kPanelColumns + column] = p.b[k + column * p.stride];
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(RunPackPanel);
HWY_EXPORT(RunMultiplyPanel);

void PackPanel(const PanelPacking& packing) {
  HWY_DYNAMIC_DISPATCH(RunPackPanel)(packing);
}

void MultiplyPanel(const PanelProduct& product) {
  HWY_DYNAMIC_DISPATCH(RunMultiplyPanel)(product);
}

}  // namespace ps

#endif  // HWY_ONCE
