#include "tensor/cpu/cpu_sum_loops.h"

#include <algorithm>
#include <cmath>
#include <vector>

// The compiler must know the vector size, as in cpu_magnitude_loops.cc.
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_sum_loops.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/highway.h"
#include "tensor/cpu/cpu_lane_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

using Uint64Tag = hn::RebindToUnsigned<DoubleTag>;

constexpr uint64_t kExponentOfOne = 0x3ff0000000000000;
constexpr int kMantissaBits = 52;

// A product of positive floats in kSumLanes lanes: mantissas as doubles,
// exponents as integers. A sum of logarithms then costs one multiplication per
// element, and one logarithm per lane at the end.
class LaneProducts {
 public:
  // A normalised double (below 2) times this many floats, each in
  // [2^-149, 2^128), neither overflows nor loses bits.
  static constexpr int kFactors = 6;

  HWY_INLINE LaneProducts() {
#pragma GCC unroll 16
    for (int i = 0; i < kDoubleVectors; ++i) {
      product_[i] = hn::Set(DoubleTag(), 1.0);
      exponent_[i] = hn::Zero(Uint64Tag());
    }
  }

  // Multiplies by the magnitudes for vector v of a group; zeros are skipped.
  HWY_INLINE void Multiply(int v, Floats magnitudes) {
    const FloatTag d;
    const DoubleTag dd;
    const auto factors =
        hn::IfThenElse(magnitudes == hn::Zero(d), hn::Set(d, 1.0f), magnitudes);
#if HWY_TARGET == HWY_SCALAR
    product_[v] = hn::Mul(product_[v], hn::PromoteTo(dd, factors));
#else
    const hn::Half<FloatTag> dh;
    product_[2 * v] =
        hn::Mul(product_[2 * v], hn::PromoteTo(dd, hn::LowerHalf(dh, factors)));
    product_[2 * v + 1] = hn::Mul(
        product_[2 * v + 1], hn::PromoteTo(dd, hn::UpperHalf(dh, factors)));
#endif
  }

  // Moves the exponents out of the products. Call it after at most kFactors
  // groups.
  HWY_INLINE void Normalize() {
    const DoubleTag d;
    const Uint64Tag du;
    const auto exponent_of_one = hn::Set(du, kExponentOfOne);
    const auto mantissa = hn::Set(du, (uint64_t{1} << kMantissaBits) - 1);
#pragma GCC unroll 16
    for (int i = 0; i < kDoubleVectors; ++i) {
      const auto bits = hn::BitCast(du, product_[i]);
      exponent_[i] = hn::Add(exponent_[i], hn::ShiftRight<kMantissaBits>(bits));
      product_[i] =
          hn::BitCast(d, hn::Or(hn::And(bits, mantissa), exponent_of_one));
    }
    bias_ += kExponentOfOne >> kMantissaBits;
  }

  // Returns the sum of the logarithms of all factors and of the last n <
  // kSumLanes magnitudes of the chunk. Call it after Normalize.
  double SumOfLogs(const float* tail, int64_t n) const {
    double products[kSumLanes];
    uint64_t exponents[kSumLanes];
    for (int i = 0; i < kDoubleVectors; ++i) {
      hn::StoreU(product_[i], DoubleTag(), products + i * HWY_LANES(double));
      hn::StoreU(exponent_[i], Uint64Tag(), exponents + i * HWY_LANES(double));
    }
    int64_t exponent = 0;
    double sum = 0;
    for (int i = 0; i < kSumLanes; ++i) {
      exponent += static_cast<int64_t>(exponents[i]) - bias_;
      sum += std::log(products[i]);
      if (i < n && tail[i] != 0) sum += std::log(std::fabs(double{tail[i]}));
    }
    return sum + static_cast<double>(exponent) * kLn2;
  }

 private:
  static constexpr double kLn2 = 0.6931471805599453;

  hn::Vec<DoubleTag> product_[kDoubleVectors];
  // The exponents, biased as in a double.
  hn::Vec<Uint64Tag> exponent_[kDoubleVectors];
  int64_t bias_ = 0;  // The total exponent bias of each lane.
};

struct SumAndSquares {
  double sum = 0;
  double sum_squares = 0;
};

SumAndSquares SumChunk(const float* u, int64_t n) {
  const auto zero = hn::Zero(DoubleTag());
  LaneSums sums;
  const int64_t whole = n / kSumLanes * kSumLanes;
  for (int64_t i = 0; i < whole; i += kSumLanes) {
#pragma GCC unroll 16
    for (int v = 0; v < kFloatVectors; ++v) {
      sums.Add(v, hn::LoadU(FloatTag(), u + i + v * kFloatLanes), zero);
    }
  }
  const std::vector<double> tail(u + whole, u + n);
  SumAndSquares result;
  sums.Finish(tail.data(), n - whole, &result.sum, &result.sum_squares);
  return result;
}

double SumValuesOfChunk(const float* u, int64_t n) {
  return SumChunk(u, n).sum;
}

double SumSquaresOfChunk(const float* u, int64_t n) {
  return SumChunk(u, n).sum_squares;
}

double SumLogsOfChunk(const float* u, int64_t n) {
  LaneProducts products;
  const int64_t whole = n / kSumLanes * kSumLanes;
  for (int64_t i = 0; i < whole;) {
    const int64_t end = std::min(whole, i + LaneProducts::kFactors * kSumLanes);
    for (; i < end; i += kSumLanes) {
#pragma GCC unroll 16
      for (int v = 0; v < kFloatVectors; ++v) {
        products.Multiply(
            v, hn::Abs(hn::LoadU(FloatTag(), u + i + v * kFloatLanes)));
      }
    }
    products.Normalize();
  }
  return products.SumOfLogs(u + whole, n - whole);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(SumValuesOfChunk);
HWY_EXPORT(SumSquaresOfChunk);
HWY_EXPORT(SumLogsOfChunk);

double SumValuesOfChunk(const float* u, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(SumValuesOfChunk)(u, n);
}

double SumSquaresOfChunk(const float* u, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(SumSquaresOfChunk)(u, n);
}

double SumLogsOfChunk(const float* u, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(SumLogsOfChunk)(u, n);
}

}  // namespace ps

#endif  // HWY_ONCE
