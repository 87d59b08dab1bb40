#include "compressors/fits/quantiles.h"

#include <cmath>

#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(NormalUpperQuantileTest, HasTheTabulatedValues) {
  // NIST/SEMATECH e-Handbook, 1.3.6.7.1, and its symmetry.
  EXPECT_NEAR(NormalUpperQuantile(0.025), 1.959963984540054, 1e-12);
  EXPECT_NEAR(NormalUpperQuantile(0.0005), 3.290526731491926, 1e-12);
  EXPECT_NEAR(NormalUpperQuantile(0.975), -1.959963984540054, 1e-12);
  EXPECT_EQ(NormalUpperQuantile(0.5), 0);
}

TEST(RegularizedUpperGammaTest, EqualsTheClosedForms) {
  for (const double x : {1e-6, 0.3, 1.0, 1.4, 1.6, 4.0, 30.0}) {
    EXPECT_NEAR(RegularizedUpperGamma(1, x), std::exp(-x), 1e-14);
    EXPECT_NEAR(RegularizedUpperGamma(0.5, x), std::erfc(std::sqrt(x)), 1e-14);
    EXPECT_NEAR(RegularizedUpperGamma(3, x), std::exp(-x) * (1 + x + x * x / 2),
                1e-14);
  }
  EXPECT_EQ(RegularizedUpperGamma(0.7, 0), 1);
}

TEST(GammaUpperQuantileTest, InvertsTheUpperGammaFunction) {
  for (const double shape : {0.01, 0.2, 0.5, 1.0, 2.5, 40.0, 3e3, 9e4}) {
    for (const double p : {0.7, 0.25, 0.01, 1e-6, 1e-9}) {
      const double x = GammaUpperQuantile(shape, p);
      EXPECT_NEAR(RegularizedUpperGamma(shape, x) / p, 1, 1e-8)
          << shape << " " << p;
    }
  }
}

TEST(GammaUpperQuantileTest, GoesOnWithoutAStepWhereItTurnsToAnApproximation) {
  for (const double p : {0.7, 0.25, 0.001}) {
    const double below = GammaUpperQuantile(99999.9, p);
    const double above = GammaUpperQuantile(100000.1, p);
    EXPECT_NEAR((above - below) / 0.2, 1, 0.05) << p;
  }
}

}  // namespace
}  // namespace ps
