// The fits on the moments of the laws themselves.
#include "compressors/fits/threshold_formulas.h"

#include <cmath>
#include <optional>

#include "compressors/fits/quantiles.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

TailSample SampleOf(double mean, double variance) {
  TailSample sample;
  sample.mean = mean;
  sample.variance = variance;
  return sample;
}

std::optional<double> Magnitudes(TailLaw law, const TailSample& sample,
                                 double density) {
  double x = 0;
  if (!TailFits{law}.Magnitudes(sample, density, &x)) return std::nullopt;
  return x;
}

std::optional<double> ParetoExceedances(const TailSample& sample,
                                        double density) {
  double x = 0;
  if (!TailFits{TailLaw::kPareto}.Exceedances(sample, density, &x)) {
    return std::nullopt;
  }
  return x;
}

TEST(ParetoFitTest, RecoversTheQuantileOfTheLaw) {
  for (const double xi : {-0.7, -0.2, 0.1, 0.3, 0.45}) {
    const double sigma = 2.5;
    const TailSample sample = SampleOf(
        sigma / (1 - xi), sigma * sigma / ((1 - xi) * (1 - xi) * (1 - 2 * xi)));
    for (const double density : {0.25, 0.001}) {
      const double exact = sigma / xi * (std::pow(density, -xi) - 1);
      EXPECT_NEAR(*Magnitudes(TailLaw::kPareto, sample, density), exact,
                  1e-9 * exact);
    }
  }
}

TEST(ParetoFitTest, GoesThroughTheExponentialLaw) {
  for (const double offset : {-1e-7, -1e-10, 0.0, 1e-10, 1e-7}) {
    EXPECT_NEAR(*ParetoExceedances(SampleOf(1, 1 + offset), 0.01),
                -std::log(0.01), 1e-5);
  }
}

TEST(ParetoFitTest, ConstantSampleHasNoFit) {
  EXPECT_FALSE(Magnitudes(TailLaw::kPareto, SampleOf(2, 0), 0.1).has_value());
  EXPECT_FALSE(ParetoExceedances(SampleOf(2, 1e-12), 0.1).has_value());
  EXPECT_TRUE(ParetoExceedances(SampleOf(2, 1e-11), 0.1).has_value());
}

// A sample with mean 1 and this s = ln(mean) - mean(ln), from which the shape
// is estimated.
TailSample GammaSample(double s) {
  TailSample sample = SampleOf(1, 1);
  sample.mean_log = -s;
  return sample;
}

TEST(GammaFitTest, ShapeOneIsNearlyTheExponentialLaw) {
  // s = ln 1 - digamma(1), Euler's constant. The shape estimate is 0.9 % low.
  const TailSample sample = GammaSample(0.5772156649015329);
  for (const double density : {0.25, 0.01}) {
    const double exact = -std::log(density);
    EXPECT_NEAR(*Magnitudes(TailLaw::kGammaPareto, sample, density), exact,
                0.01 * exact);
    EXPECT_NEAR(*Magnitudes(TailLaw::kClosedGammaPareto, sample, density),
                exact, 0.01 * exact);
  }
}

TEST(GammaFitTest, ClosedFormIsAnUpperBoundForShapesBelowOne) {
  for (const double s : {0.6, 1.0, 1.5}) {
    for (const double density : {0.1, 0.01, 0.001}) {
      EXPECT_GT(
          *Magnitudes(TailLaw::kClosedGammaPareto, GammaSample(s), density),
          *Magnitudes(TailLaw::kGammaPareto, GammaSample(s), density));
    }
  }
}

// The closed form would be negative: -ln 0.25 - lnGamma(0.2) = -0.14.
TEST(GammaFitTest, ClosedFormGivesWayWhereItIsNegative) {
  // s for shape 0.2: ln 0.2 - digamma(0.2), digamma(0.2) = -5.2890398966.
  const TailSample sample = GammaSample(std::log(0.2) + 5.2890398966);
  EXPECT_LT(-std::log(0.25) - LogGamma(0.2), 0);
  EXPECT_EQ(*Magnitudes(TailLaw::kClosedGammaPareto, sample, 0.25),
            *Magnitudes(TailLaw::kGammaPareto, sample, 0.25));
  EXPECT_GT(*Magnitudes(TailLaw::kClosedGammaPareto, sample, 0.25), 0);
}

TEST(GammaFitTest, ConstantSampleHasNoFit) {
  EXPECT_FALSE(
      Magnitudes(TailLaw::kGammaPareto, GammaSample(1e-12), 0.1).has_value());
  EXPECT_FALSE(Magnitudes(TailLaw::kClosedGammaPareto, GammaSample(-1e-16), 0.1)
                   .has_value());
  EXPECT_TRUE(
      Magnitudes(TailLaw::kGammaPareto, GammaSample(1e-11), 0.1).has_value());
}

}  // namespace
}  // namespace ps
