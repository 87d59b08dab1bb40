#include "compressors/value_codes/philox.h"

#include "compressors/value_codes/philox_words.h"
#include "glog/logging.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/value_codes/philox.cc"
#include "hwy/foreach_target.h"
// Must follow foreach_target.h, which must be first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Fills whole vectors with draws, and returns the number of draws.
int64_t FillDraws(uint64_t counter, uint32_t key0, uint32_t key1, int64_t n,
                  float* HWY_RESTRICT draws) {
#if HWY_TARGET == HWY_SCALAR
  (void)counter, (void)key0, (void)key1, (void)n, (void)draws;
  return 0;
#else
  const hn::ScalableTag<uint32_t> d;
  const hn::RepartitionToWide<decltype(d)> wide;
  const hn::RebindToFloat<decltype(d)> df;
  const auto low_half = hn::Set(wide, uint64_t{0xffffffff});
  const auto multiply = [&](auto x, auto by, auto* high) {
    const auto even = hn::MulEven(x, by);
    const auto odd = hn::MulEven(
        hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), by);
    *high = hn::BitCast(
        d, hn::Or(hn::ShiftRight<32>(even), hn::AndNot(low_half, odd)));
    return hn::BitCast(d,
                       hn::Or(hn::And(even, low_half), hn::ShiftLeft<32>(odd)));
  };
  const auto multiplier0 = hn::Set(d, kPhiloxMultiplier0);
  const auto multiplier1 = hn::Set(d, kPhiloxMultiplier1);
  const auto draw = [&](auto word) {
    return hn::Mul(
        hn::ConvertTo(df, hn::BitCast(hn::RebindToSigned<decltype(d)>(),
                                      hn::ShiftRight<8>(word))),
        hn::Set(df, 0x1p-24f));
  };
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t done = 0;
  // The lower word of the counter must not wrap inside a vector; a payload
  // has fewer than 2^32 elements, so its counters stay below 2^30.
  for (; done + 4 * lanes <= n; done += 4 * lanes, counter += lanes) {
    auto c0 = hn::Iota(d, static_cast<uint32_t>(counter));
    auto c1 = hn::Set(d, static_cast<uint32_t>(counter >> 32));
    auto c2 = hn::Zero(d);
    auto c3 = hn::Zero(d);
    uint32_t k0 = key0;
    uint32_t k1 = key1;
    for (int round = 0; round < kPhiloxRounds; ++round) {
      auto high0 = c0;
      auto high1 = c0;
      const auto low0 = multiply(c0, multiplier0, &high0);
      const auto low1 = multiply(c2, multiplier1, &high1);
      c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0));
      c1 = low1;
      c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
      c3 = low0;
      k0 += kPhiloxKeyStep0;
      k1 += kPhiloxKeyStep1;
    }
    hn::StoreInterleaved4(draw(c0), draw(c1), draw(c2), draw(c3), df,
                          draws + done);
  }
  return done;
#endif
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(FillDraws);

std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key) {
  const PhiloxWords made = PhiloxRounds(
      {{counter[0], counter[1], counter[2], counter[3]}}, key[0], key[1]);
  return {made.words[0], made.words[1], made.words[2], made.words[3]};
}

void UniformDraws::Fill(int64_t begin, absl::Span<float> draws) const {
  CHECK_EQ(begin % 4, 0);
  const uint64_t counter = static_cast<uint64_t>(begin) / 4;
  const int64_t n = static_cast<int64_t>(draws.size());
  const int64_t done = HWY_DYNAMIC_DISPATCH(FillDraws)(
      counter, key_[0], key_[1], n, draws.data());
  for (int64_t i = done; i < n; i += 4) {
    const uint64_t c = counter + static_cast<uint64_t>(i) / 4;
    const std::array<uint32_t, 4> words = Philox(
        {static_cast<uint32_t>(c), static_cast<uint32_t>(c >> 32), 0, 0}, key_);
    for (int64_t j = i; j < i + 4 && j < n; ++j) {
      draws[j] = DrawOfWord(words[j - i]);
    }
  }
}

}  // namespace ps

#endif  // HWY_ONCE
