// Computes exp, sigmoid and tanh of vectors, to a few units in the last place.
// A NaN gives a NaN: Highway's own Exp turns it into 0, which would hide that a
// model has diverged.
//
// Polynomials: S. L. Moshier, Cephes mathematical library 2.2 (expf, tanhf).
//
// Compiled once for each target of Highway, hence the toggling include guard.
#if defined(TENSOR_CPU_CPU_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSOR_CPU_CPU_ACTIVATIONS_INL_H_
#undef TENSOR_CPU_CPU_ACTIVATIONS_INL_H_
#else
#define TENSOR_CPU_CPU_ACTIVATIONS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Returns exp(x) with x clamped to [-87.3, 88], where the result is normal.
template <class D, class V>
HWY_INLINE V Exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  // This order of arguments preserves a NaN.
  x = hn::Max(hn::Set(d, -87.3f), hn::Min(hn::Set(d, 88.0f), x));
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504088896341f)));
  // r = x - n ln 2, with ln 2 split in two parts of which the first has few
  // bits.
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  const V e = hn::MulAdd(hn::Mul(r, r), p, hn::Add(r, hn::Set(d, 1.0f)));
  // Builds 2^n from its exponent bits.
  const auto bits = hn::ShiftLeft<23>(
      hn::Add(hn::ConvertTo(di, n), hn::Set(di, int32_t{127})));
  return hn::Mul(e, hn::BitCast(d, bits));
}

// Returns 1 / (1 + exp(-x)).
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, Exp(d, hn::Neg(x))));
}

template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V two = hn::Set(d, 2.0f);
  const V magnitude = hn::Abs(x);
  // Near 0 the other formula would suffer from cancellation.
  const V z = hn::Mul(x, x);
  V p = hn::Set(d, -5.70498872745e-3f);
  p = hn::MulAdd(p, z, hn::Set(d, 2.06390887954e-2f));
  p = hn::MulAdd(p, z, hn::Set(d, -5.37397155531e-2f));
  p = hn::MulAdd(p, z, hn::Set(d, 1.33314422036e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, -3.33332819422e-1f));
  const V small = hn::MulAdd(hn::Mul(p, z), x, x);
  const V large =
      hn::Sub(one, hn::Div(two, hn::Add(one, Exp(d, hn::Mul(two, magnitude)))));
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), small,
                        hn::CopySign(large, x));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#endif  // TENSOR_CPU_CPU_ACTIVATIONS_INL_H_
