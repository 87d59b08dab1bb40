#include "tensor/cpu/cpu_batch_norm_loops.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_batch_norm_loops.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/highway.h"
#include "tensor/cpu/cpu_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The rows that are summed in float before the sum is added to a double.
constexpr int64_t kRowsPerSum = 1024;
// The rows summed in parallel: a single sum would wait for its last addition.
constexpr int kUnroll = 4;

// Adds up two values of each row: terms(row, &first, &second).
template <typename D, typename Terms>
HWY_INLINE void SumRows(D d, int64_t rows, const Terms& terms, double* first,
                        double* second) {
  using V = hn::Vec<D>;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  for (int lane = 0; lane < kLanes; ++lane) first[lane] = second[lane] = 0;
  for (int64_t begin = 0; begin < rows; begin += kRowsPerSum) {
    const int64_t end = std::min(rows, begin + kRowsPerSum);
    V a[kUnroll], b[kUnroll];
    for (int u = 0; u < kUnroll; ++u) a[u] = b[u] = hn::Zero(d);
    int64_t r = begin;
    for (; r + kUnroll <= end; r += kUnroll) {
#pragma GCC unroll 4
      for (int u = 0; u < kUnroll; ++u) {
        V p, q;
        terms(r + u, &p, &q);
        a[u] = hn::Add(a[u], p);
        b[u] = hn::Add(b[u], q);
      }
    }
    for (; r < end; ++r) {
      V p, q;
      terms(r, &p, &q);
      a[0] = hn::Add(a[0], p);
      b[0] = hn::Add(b[0], q);
    }
    float sums[2][kLanes];
    hn::StoreU(hn::Add(hn::Add(a[0], a[1]), hn::Add(a[2], a[3])), d, sums[0]);
    hn::StoreU(hn::Add(hn::Add(b[0], b[1]), hn::Add(b[2], b[3])), d, sums[1]);
    for (int lane = 0; lane < kLanes; ++lane) {
      first[lane] += sums[0][lane];
      second[lane] += sums[1][lane];
    }
  }
}

void SumShifted(const float* x, const MatrixSize& size, const float* shift,
                double* sum, double* sum_squares) {
  ForEachColumns(size.width, [&](auto d, int64_t c) {
    using V = hn::Vec<decltype(d)>;
    const V middle = hn::LoadU(d, shift + c);
    const auto terms = [&](int64_t r, V* p, V* q) {
      *p = hn::Sub(hn::LoadU(d, x + r * size.width + c), middle);
      *q = hn::Mul(*p, *p);
    };
    SumRows(d, size.rows, terms, sum + c, sum_squares + c);
  });
}

template <bool kResidual, bool kRelu>
void NormalizeAs(const float* x, const MatrixSize& size, const float* scale,
                 const float* offset, const float* residual, float* y) {
  ForEachColumns(size.width, [&](auto d, int64_t c) {
    const auto factor = hn::LoadU(d, scale + c);
    const auto summand = hn::LoadU(d, offset + c);
    for (int64_t r = 0; r < size.rows; ++r) {
      const int64_t i = r * size.width + c;
      auto v = hn::MulAdd(hn::LoadU(d, x + i), factor, summand);
      if (kResidual) v = hn::Add(v, hn::LoadU(d, residual + i));
      // This order of arguments preserves a NaN.
      if (kRelu) v = hn::Max(hn::Zero(d), v);
      hn::StoreU(v, d, y + i);
    }
  });
}

void Normalize(const float* x, const MatrixSize& size, const float* scale,
               const float* offset, const NormTail& tail, float* y) {
  if (tail.residual != nullptr) {
    (tail.relu
         ? NormalizeAs<true, true>
         : NormalizeAs<true, false>)(x, size, scale, offset, tail.residual, y);
  } else {
    (tail.relu ? NormalizeAs<false, true>
               : NormalizeAs<false, false>)(x, size, scale, offset, nullptr, y);
  }
}

template <NormMask kMask>
void SumGradientsAs(const NormGradient& gradient, const MatrixSize& size,
                    const float* mean, double* sum, double* sum_products) {
  ForEachColumns(size.width, [&](auto d, int64_t c) {
    using V = hn::Vec<decltype(d)>;
    const V middle = hn::LoadU(d, mean + c);
    const V zero = hn::Zero(d);
    V factor = zero, summand = zero;
    if (kMask == NormMask::kFromInput) {
      factor = hn::LoadU(d, gradient.scale + c);
      summand = hn::LoadU(d, gradient.offset + c);
    }
    const auto terms = [&](int64_t r, V* p, V* q) {
      const int64_t i = r * size.width + c;
      const V x = hn::LoadU(d, gradient.x + i);
      V g = hn::LoadU(d, gradient.dy + i);
      if (kMask == NormMask::kFromInput) {
        g = hn::IfThenElseZero(hn::Gt(hn::MulAdd(x, factor, summand), zero), g);
      }
      if (kMask == NormMask::kFromOutput) {
        g = hn::IfThenElseZero(hn::Gt(hn::LoadU(d, gradient.y + i), zero), g);
        hn::StoreU(g, d, gradient.dy + i);
      }
      *p = g;
      *q = hn::Mul(g, hn::Sub(x, middle));
    };
    SumRows(d, size.rows, terms, sum + c, sum_products + c);
  });
}

void SumGradients(const NormGradient& gradient, const MatrixSize& size,
                  const float* mean, double* sum, double* sum_products) {
  const auto run = gradient.mask == NormMask::kNone
                       ? SumGradientsAs<NormMask::kNone>
                   : gradient.mask == NormMask::kFromInput
                       ? SumGradientsAs<NormMask::kFromInput>
                       : SumGradientsAs<NormMask::kFromOutput>;
  run(gradient, size, mean, sum, sum_products);
}

template <bool kRelu>
void FindInputGradientAs(const NormGradient& gradient, const MatrixSize& size,
                         const NormInputGradient& factors, float* dx) {
  ForEachColumns(size.width, [&](auto d, int64_t c) {
    using V = hn::Vec<decltype(d)>;
    const V of_gradient = hn::LoadU(d, factors.of_gradient + c);
    const V of_input = hn::LoadU(d, factors.of_input + c);
    const V constant = hn::LoadU(d, factors.constant + c);
    const V zero = hn::Zero(d);
    V factor = zero, summand = zero;
    if (kRelu) {
      factor = hn::LoadU(d, gradient.scale + c);
      summand = hn::LoadU(d, gradient.offset + c);
    }
    for (int64_t r = 0; r < size.rows; ++r) {
      const int64_t i = r * size.width + c;
      const V x = hn::LoadU(d, gradient.x + i);
      V g = hn::LoadU(d, gradient.dy + i);
      if (kRelu) {
        g = hn::IfThenElseZero(hn::Gt(hn::MulAdd(x, factor, summand), zero), g);
      }
      const V rest = hn::MulAdd(x, of_input, constant);
      hn::StoreU(hn::MulAdd(g, of_gradient, rest), d, dx + i);
    }
  });
}

void FindInputGradient(const NormGradient& gradient, const MatrixSize& size,
                       const NormInputGradient& factors, float* dx) {
  (gradient.mask == NormMask::kFromInput
       ? FindInputGradientAs<true>
       : FindInputGradientAs<false>)(gradient, size, factors, dx);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(SumShifted);
HWY_EXPORT(Normalize);
HWY_EXPORT(SumGradients);
HWY_EXPORT(FindInputGradient);

void SumShifted(const float* x, const MatrixSize& size, const float* shift,
                double* sum, double* sum_squares) {
  HWY_DYNAMIC_DISPATCH(SumShifted)(x, size, shift, sum, sum_squares);
}

void Normalize(const float* x, const MatrixSize& size, const float* scale,
               const float* offset, const NormTail& tail, float* y) {
  HWY_DYNAMIC_DISPATCH(Normalize)(x, size, scale, offset, tail, y);
}

void SumGradients(const NormGradient& gradient, const MatrixSize& size,
                  const float* mean, double* sum, double* sum_products) {
  HWY_DYNAMIC_DISPATCH(SumGradients)(gradient, size, mean, sum, sum_products);
}

void FindInputGradient(const NormGradient& gradient, const MatrixSize& size,
                       const NormInputGradient& factors, float* dx) {
  HWY_DYNAMIC_DISPATCH(FindInputGradient)(gradient, size, factors, dx);
}

}  // namespace ps

#endif  // HWY_ONCE
