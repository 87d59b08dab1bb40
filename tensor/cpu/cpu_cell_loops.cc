#include "tensor/cpu/cpu_cell_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_cell_loops.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/highway.h"
#include "tensor/cpu/cpu_activations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Calls cells(d, j) for vectors of type d that begin at element j: whole
// vectors first, then one element at a time.
template <class Cells>
HWY_INLINE void ForEachVector(int64_t n, const Cells& cells) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) cells(d, j);
  for (; j < n; ++j) cells(hn::CappedTag<float, 1>(), j);
}

// Returns a (1 - a), the derivative of the sigmoid in terms of its value a.
template <class D, class V>
HWY_INLINE V SigmoidSlope(D d, V a) {
  return hn::Mul(a, hn::Sub(hn::Set(d, 1.0f), a));
}

// Returns 1 - a^2, the derivative of tanh in terms of its value a.
template <class D, class V>
HWY_INLINE V TanhSlope(D d, V a) {
  return hn::NegMulAdd(a, a, hn::Set(d, 1.0f));
}

struct LstmForwardCells {
  template <class D>
  HWY_INLINE void operator()(D d, int64_t j) const {
    const auto sum = [&](int64_t k) HWY_ATTR {
      return hn::Add(
          hn::Add(hn::LoadU(d, row.gates + k), hn::LoadU(d, row.recurrent + k)),
          hn::Add(hn::LoadU(d, row.input_bias + k),
                  hn::LoadU(d, row.recurrent_bias + k)));
    };
    const int64_t n = row.hidden;
    const auto i = Sigmoid(d, sum(j));
    const auto f = Sigmoid(d, sum(n + j));
    const auto g = Tanh(d, sum(2 * n + j));
    const auto o = Sigmoid(d, sum(3 * n + j));
    const auto c =
        hn::MulAdd(f, hn::LoadU(d, row.cell_before + j), hn::Mul(i, g));
    const auto h = hn::Mul(o, Tanh(d, c));
    hn::StoreU(i, d, row.gates + j);
    hn::StoreU(f, d, row.gates + n + j);
    hn::StoreU(g, d, row.gates + 2 * n + j);
    hn::StoreU(o, d, row.gates + 3 * n + j);
    hn::StoreU(c, d, row.cell + j);
    hn::StoreU(h, d, row.hidden_after + j);
    hn::StoreU(h, d, row.y + j);
  }

  const CellForward& row;
};

struct LstmBackwardCells {
  template <class D>
  HWY_INLINE void operator()(D d, int64_t j) const {
    const int64_t n = row.hidden;
    const auto i = hn::LoadU(d, row.gates + j);
    const auto f = hn::LoadU(d, row.gates + n + j);
    const auto g = hn::LoadU(d, row.gates + 2 * n + j);
    const auto o = hn::LoadU(d, row.gates + 3 * n + j);
    const auto tanh_c = Tanh(d, hn::LoadU(d, row.cell + j));
    const auto dh =
        hn::Add(hn::LoadU(d, row.dy + j), hn::LoadU(d, row.dhidden + j));
    const auto dc = hn::MulAdd(hn::Mul(dh, o), TanhSlope(d, tanh_c),
                               hn::LoadU(d, row.dcell + j));
    hn::StoreU(hn::Mul(hn::Mul(dc, g), SigmoidSlope(d, i)), d, row.gates + j);
    hn::StoreU(hn::Mul(hn::Mul(dc, hn::LoadU(d, row.cell_before + j)),
                       SigmoidSlope(d, f)),
               d, row.gates + n + j);
    hn::StoreU(hn::Mul(hn::Mul(dc, i), TanhSlope(d, g)), d,
               row.gates + 2 * n + j);
    hn::StoreU(hn::Mul(hn::Mul(dh, tanh_c), SigmoidSlope(d, o)), d,
               row.gates + 3 * n + j);
    hn::StoreU(hn::Mul(dc, f), d, row.dcell + j);
  }

  const CellBackward& row;
};

struct GruForwardCells {
  template <class D>
  HWY_INLINE void operator()(D d, int64_t j) const {
    const auto recurrent = [&](int64_t k) HWY_ATTR {
      return hn::Add(hn::LoadU(d, row.recurrent + k),
                     hn::LoadU(d, row.recurrent_bias + k));
    };
    const auto input = [&](int64_t k) HWY_ATTR {
      return hn::Add(hn::LoadU(d, row.gates + k),
                     hn::LoadU(d, row.input_bias + k));
    };
    const int64_t n = row.hidden;
    const auto r = Sigmoid(d, hn::Add(input(j), recurrent(j)));
    const auto z = Sigmoid(d, hn::Add(input(n + j), recurrent(n + j)));
    const auto candidate = recurrent(2 * n + j);
    const auto tanh_n = Tanh(d, hn::MulAdd(r, candidate, input(2 * n + j)));
    // This computes n + z (h - n).
    const auto h = hn::MulAdd(
        z, hn::Sub(hn::LoadU(d, row.hidden_before + j), tanh_n), tanh_n);
    hn::StoreU(r, d, row.gates + j);
    hn::StoreU(z, d, row.gates + n + j);
    hn::StoreU(tanh_n, d, row.gates + 2 * n + j);
    hn::StoreU(candidate, d, row.recurrent + 2 * n + j);
    hn::StoreU(h, d, row.hidden_after + j);
    hn::StoreU(h, d, row.y + j);
  }

  const CellForward& row;
};

struct GruBackwardCells {
  template <class D>
  HWY_INLINE void operator()(D d, int64_t j) const {
    const int64_t n = row.hidden;
    const auto r = hn::LoadU(d, row.gates + j);
    const auto z = hn::LoadU(d, row.gates + n + j);
    const auto tanh_n = hn::LoadU(d, row.gates + 2 * n + j);
    const auto candidate = hn::LoadU(d, row.recurrent + 2 * n + j);
    const auto dh =
        hn::Add(hn::LoadU(d, row.dy + j), hn::LoadU(d, row.dhidden + j));
    const auto dz = hn::Mul(
        hn::Mul(dh, hn::Sub(hn::LoadU(d, row.hidden_before + j), tanh_n)),
        SigmoidSlope(d, z));
    const auto dn = hn::Mul(hn::NegMulAdd(dh, z, dh), TanhSlope(d, tanh_n));
    const auto dr = hn::Mul(hn::Mul(dn, candidate), SigmoidSlope(d, r));
    hn::StoreU(dr, d, row.gates + j);
    hn::StoreU(dz, d, row.gates + n + j);
    hn::StoreU(dn, d, row.gates + 2 * n + j);
    hn::StoreU(dr, d, row.recurrent + j);
    hn::StoreU(dz, d, row.recurrent + n + j);
    hn::StoreU(hn::Mul(dn, r), d, row.recurrent + 2 * n + j);
    hn::StoreU(hn::Mul(dh, z), d, row.dhidden + j);
  }

  const CellBackward& row;
};

void LstmForwardRow(const CellForward& row) {
  ForEachVector(row.hidden, LstmForwardCells{row});
}

void LstmBackwardRow(const CellBackward& row) {
  ForEachVector(row.hidden, LstmBackwardCells{row});
}

void GruForwardRow(const CellForward& row) {
  ForEachVector(row.hidden, GruForwardCells{row});
}

void GruBackwardRow(const CellBackward& row) {
  ForEachVector(row.hidden, GruBackwardCells{row});
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(LstmForwardRow);
HWY_EXPORT(LstmBackwardRow);
HWY_EXPORT(GruForwardRow);
HWY_EXPORT(GruBackwardRow);

void LstmForward(const CellForward& row) {
  HWY_DYNAMIC_DISPATCH(LstmForwardRow)(row);
}

void LstmBackward(const CellBackward& row) {
  HWY_DYNAMIC_DISPATCH(LstmBackwardRow)(row);
}

void GruForward(const CellForward& row) {
  HWY_DYNAMIC_DISPATCH(GruForwardRow)(row);
}

void GruBackward(const CellBackward& row) {
  HWY_DYNAMIC_DISPATCH(GruBackwardRow)(row);
}

}  // namespace ps

#endif  // HWY_ONCE
