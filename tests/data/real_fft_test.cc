#include "data/real_fft.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

std::vector<float> Noise(int64_t size) {
  RandomStream random(static_cast<uint64_t>(size));
  std::vector<float> x(size);
  for (float& value : x) value = static_cast<float>(random.Normal());
  return x;
}

std::vector<float> Power(const RealFft& fft, const std::vector<float>& x) {
  std::vector<float> power(fft.num_bins());
  std::vector<float> scratch(fft.scratch_size());
  fft.PowerSpectrum(x.data(), power.data(), scratch.data());
  return power;
}

// The power by its definition, in double.
double DefinedPower(const std::vector<float>& x, int64_t k) {
  double re = 0, im = 0;
  for (size_t n = 0; n < x.size(); ++n) {
    const double angle = 2 * M_PI * static_cast<double>(n * k) / x.size();
    re += x[n] * std::cos(angle);
    im -= x[n] * std::sin(angle);
  }
  return re * re + im * im;
}

TEST(RealFftTest, EqualsTheDefinitionAtEverySize) {
  for (const int64_t size :
       {2, 4, 6, 8, 10, 14, 30, 64, 98, 160, 202, 320, 400, 512}) {
    const RealFft fft(size);
    const std::vector<float> x = Noise(size);
    const std::vector<float> power = Power(fft, x);
    ASSERT_EQ(power.size(), size / 2 + 1);
    for (int64_t k = 0; k <= size / 2; ++k) {
      // Mean power is `size`; rounding errors are about 1e-7 of an amplitude.
      EXPECT_NEAR(power[k], DefinedPower(x, k), 1e-5 * size)
          << "size " << size << ", frequency " << k;
    }
  }
}

TEST(RealFftTest, AToneIsOneFrequency) {
  const RealFft fft(320);
  std::vector<float> x(320);
  for (int n = 0; n < 320; ++n) {
    x[n] = static_cast<float>(std::cos(2 * M_PI * 40 * n / 320));
  }
  const std::vector<float> power = Power(fft, x);
  for (int k = 0; k <= 160; ++k) {
    EXPECT_NEAR(power[k], k == 40 ? 160 * 160 : 0, 0.02) << k;
  }
}

TEST(RealFftTest, TheScratchHoldsNothingThatCounts) {
  const RealFft fft(30);
  const std::vector<float> x = Noise(30);
  std::vector<float> a(fft.num_bins()), b(fft.num_bins());
  std::vector<float> scratch(fft.scratch_size(), 1e30f);
  fft.PowerSpectrum(x.data(), a.data(), scratch.data());
  fft.PowerSpectrum(x.data(), b.data(), scratch.data());
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace ps
