#include "compressors/value_codes/level_loops.h"

#include <algorithm>

#include "compressors/value_codes/levels.h"
#include "compressors/value_codes/value_steps.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/value_codes/level_loops.cc"
#include "hwy/foreach_target.h"
// Must follow foreach_target.h, which must be first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

int64_t RoundUniform(const LevelStretch&) { return 0; }
int64_t RoundExponential(const LevelStretch&) { return 0; }

#else

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::RebindToSigned<FloatTag>;
using FloatVector = hn::Vec<FloatTag>;
using IntVector = hn::Vec<IntTag>;

// Rounds whole vectors and returns the number of values in them. levels(r,
// draw, &value) returns the level and sets *value to the level's value.
template <typename Levels>
int64_t RoundVectors(const LevelStretch& stretch, const Levels& levels) {
  const FloatTag d;
  const IntTag di;
  const hn::Rebind<uint8_t, FloatTag> codes_tag;
  const auto scale = hn::Set(d, stretch.scale);
  const auto one = hn::Set(d, 1.0f);
  const auto sign_code = hn::Set(di, 1 << (stretch.bits - 1));
  const auto sign_bit = hn::SignBit(d);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= stretch.n; i += lanes) {
    const auto v = hn::LoadU(d, stretch.values + i);
    const auto r = hn::Min(hn::Div(hn::Abs(v), scale), one);
    auto value = one;
    const auto level = levels(r, hn::LoadU(d, stretch.draws + i), &value);
    // A zero gets level 0, without a sign.
    const auto negative = hn::And(hn::BitCast(di, hn::And(v, sign_bit)),
                                  hn::VecFromMask(di, level > hn::Zero(di)));
    const auto decoded =
        hn::Or(hn::Mul(scale, value), hn::BitCast(d, negative));
    hn::StoreU(hn::Sub(v, decoded), d, stretch.values + i);
    const auto code =
        hn::Or(level, hn::And(hn::BroadcastSignBit(negative), sign_code));
    hn::StoreU(hn::DemoteTo(codes_tag, code), codes_tag, stretch.codes + i);
  }
  return i;
}

// Returns 1 where draw < place, else 0.
IntVector Above(FloatVector draw, FloatVector place) {
  const IntTag di;
  return hn::And(hn::VecFromMask(di, hn::RebindMask(di, draw < place)),
                 hn::Set(di, 1));
}

int64_t RoundUniform(const LevelStretch& stretch) {
  const FloatTag d;
  const IntTag di;
  const int num_levels = (1 << (stretch.bits - 1)) - 1;
  const auto s = hn::Set(d, static_cast<float>(num_levels));
  const auto last = hn::Set(di, num_levels - 1);
  return RoundVectors(
      stretch, [&](FloatVector r, FloatVector draw, FloatVector* value) {
        const auto place = hn::Mul(r, s);
        const auto lower = hn::Min(hn::ConvertTo(di, place), last);
        const auto level = hn::Add(
            lower, Above(draw, hn::Sub(place, hn::ConvertTo(d, lower))));
        *value = hn::Div(hn::ConvertTo(d, level), s);
        return level;
      });
}

int64_t RoundExponential(const LevelStretch& stretch) {
  constexpr int kFractionBits = 23;
  const FloatTag d;
  const IntTag di;
  const int num_levels = (1 << (stretch.bits - 1)) - 1;
  const auto one = hn::Set(d, 1.0f);
  const auto bias = hn::Set(di, 127);
  const auto s = hn::Set(di, num_levels);
  const auto power_of_two = [&](IntVector exponent) {
    return hn::BitCast(d,
                       hn::ShiftLeft<kFractionBits>(hn::Add(exponent, bias)));
  };
  const auto lowest = hn::Sub(s, hn::Set(di, 1));
  const auto over_least = power_of_two(lowest);
  // Like ExponentialLevels::Round, but computes both cases.
  return RoundVectors(
      stretch, [&](FloatVector r, FloatVector draw, FloatVector* value) {
        const auto exponent = hn::ShiftRight<kFractionBits>(hn::BitCast(di, r));
        const auto octave = hn::Max(hn::Sub(bias, exponent), hn::Set(di, 1));
        const auto below = octave > lowest;
        const auto place =
            hn::IfThenElse(hn::RebindMask(d, below), hn::Mul(r, over_least),
                           hn::Sub(hn::Mul(r, power_of_two(octave)), one));
        const auto level = hn::Add(
            hn::IfThenZeroElse(below, hn::Sub(s, octave)), Above(draw, place));
        *value = hn::IfThenElseZero(hn::RebindMask(d, level > hn::Zero(di)),
                                    power_of_two(hn::Sub(level, s)));
        return level;
      });
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(RoundUniform);
HWY_EXPORT(RoundExponential);

namespace {

// Rounds the values from `begin` on, one at a time.
template <typename Levels>
void RoundFrom(int64_t begin, const Levels& levels,
               const LevelStretch& stretch) {
  for (int64_t i = begin; i < stretch.n; ++i) {
    stretch.codes[i] =
        static_cast<uint8_t>(TakeLevel(levels, stretch.scale, stretch.bits,
                                       stretch.draws[i], &stretch.values[i]));
  }
}

// Writes zeros if the scale is 0; returns whether it did.
bool WriteZeros(const LevelStretch& stretch) {
  if (stretch.scale > 0) return false;
  std::fill_n(stretch.codes, stretch.n, uint8_t{0});
  return true;
}

}  // namespace

void RoundToUniformLevels(const LevelStretch& stretch) {
  if (WriteZeros(stretch)) return;
  RoundFrom(HWY_DYNAMIC_DISPATCH(RoundUniform)(stretch), UniformLevels(),
            stretch);
}

void RoundToExponentialLevels(const LevelStretch& stretch) {
  if (WriteZeros(stretch)) return;
  RoundFrom(HWY_DYNAMIC_DISPATCH(RoundExponential)(stretch),
            ExponentialLevels(), stretch);
}

void RoundToTableLevels(const float* levels, const LevelStretch& stretch) {
  if (WriteZeros(stretch)) return;
  RoundFrom(0, TableLevels(levels), stretch);
}

}  // namespace ps

#endif  // HWY_ONCE
