#include "tensor/cpu/cpu_pooling_loops.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_pooling_loops.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/highway.h"
#include "tensor/cpu/cpu_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The part of a window that lies inside the input.
struct Window {
  int64_t top, bottom, left, right;  // [top, bottom) x [left, right)
};

// Calls body(window, output row) for every window.
template <typename Body>
HWY_INLINE void ForEachWindow(const PoolingGeometry& g, const Body& body) {
  int64_t out_row = 0;
  for (int64_t h = 0; h < g.out_height; ++h) {
    const int64_t top = h * g.stride - g.padding;
    for (int64_t w = 0; w < g.out_width; ++w, ++out_row) {
      const int64_t left = w * g.stride - g.padding;
      body(Window{std::max<int64_t>(top, 0), std::min(top + g.window, g.height),
                  std::max<int64_t>(left, 0),
                  std::min(left + g.window, g.width)},
           out_row);
    }
  }
}

// Calls body(input row) for every pixel of a window.
template <typename Body>
HWY_INLINE void ForEachPixel(const PoolingGeometry& g, const Window& window,
                             const Body& body) {
  for (int64_t i = window.top; i < window.bottom; ++i) {
    for (int64_t j = window.left; j < window.right; ++j) body(i * g.width + j);
  }
}

void MaxPool(const float* x, const PoolingGeometry& g, float* y,
             int32_t* maxima) {
  ForEachWindow(g, [&](const Window& window, int64_t out_row) {
    ForEachColumns(g.columns, [&](auto d, int64_t c) {
      const hn::Rebind<int32_t, decltype(d)> di;
      const int64_t first = window.top * g.width + window.left;
      auto max = hn::LoadU(d, x + first * g.columns + c);
      auto maximum = hn::Set(di, static_cast<int32_t>(first));
      ForEachPixel(g, window, [&](int64_t row) {
        const auto value = hn::LoadU(d, x + row * g.columns + c);
        // A NaN wins and stays, so that pooling does not hide it.
        const auto wins = hn::Or(hn::Gt(value, max), hn::IsNaN(value));
        max = hn::IfThenElse(wins, value, max);
        maximum =
            hn::IfThenElse(hn::RebindMask(di, wins),
                           hn::Set(di, static_cast<int32_t>(row)), maximum);
      });
      hn::StoreU(max, d, y + out_row * g.columns + c);
      hn::StoreU(maximum, di, maxima + out_row * g.columns + c);
    });
  });
}

void MaxPoolBackward(const float* dy, const int32_t* maxima,
                     const PoolingGeometry& g, float* dx) {
  std::fill_n(dx, g.in_size(), 0.0f);
  for (int64_t i = 0; i < g.out_size(); i += g.columns) {
    for (int64_t c = 0; c < g.columns; ++c) {
      dx[maxima[i + c] * g.columns + c] += dy[i + c];
    }
  }
}

void AveragePool(const float* x, const PoolingGeometry& g, float* y) {
  const float share = 1 / static_cast<float>(g.window * g.window);
  ForEachWindow(g, [&](const Window& window, int64_t out_row) {
    ForEachColumns(g.columns, [&](auto d, int64_t c) {
      auto sum = hn::Zero(d);
      ForEachPixel(g, window, [&](int64_t row) {
        sum = hn::Add(sum, hn::LoadU(d, x + row * g.columns + c));
      });
      hn::StoreU(hn::Mul(sum, hn::Set(d, share)), d,
                 y + out_row * g.columns + c);
    });
  });
}

void AveragePoolBackward(const float* dy, const PoolingGeometry& g, float* dx) {
  std::fill_n(dx, g.in_size(), 0.0f);
  const float share = 1 / static_cast<float>(g.window * g.window);
  ForEachWindow(g, [&](const Window& window, int64_t out_row) {
    ForEachColumns(g.columns, [&](auto d, int64_t c) {
      const auto part = hn::Mul(hn::LoadU(d, dy + out_row * g.columns + c),
                                hn::Set(d, share));
      ForEachPixel(g, window, [&](int64_t row) {
        float* const target = dx + row * g.columns + c;
        hn::StoreU(hn::Add(hn::LoadU(d, target), part), d, target);
      });
    });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(MaxPool);
HWY_EXPORT(MaxPoolBackward);
HWY_EXPORT(AveragePool);
HWY_EXPORT(AveragePoolBackward);

void MaxPool(const float* x, const PoolingGeometry& geometry, float* y,
             int32_t* maxima) {
  HWY_DYNAMIC_DISPATCH(MaxPool)(x, geometry, y, maxima);
}

void MaxPoolBackward(const float* dy, const int32_t* maxima,
                     const PoolingGeometry& geometry, float* dx) {
  HWY_DYNAMIC_DISPATCH(MaxPoolBackward)(dy, maxima, geometry, dx);
}

void AveragePool(const float* x, const PoolingGeometry& geometry, float* y) {
  HWY_DYNAMIC_DISPATCH(AveragePool)(x, geometry, y);
}

void AveragePoolBackward(const float* dy, const PoolingGeometry& geometry,
                         float* dx) {
  HWY_DYNAMIC_DISPATCH(AveragePoolBackward)(dy, geometry, dx);
}

}  // namespace ps

#endif  // HWY_ONCE
