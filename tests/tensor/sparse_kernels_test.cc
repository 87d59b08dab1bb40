// Every backend's sparse kernels against plain loops.
#include "tensor/sparse_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/tensor.h"
#include "tests/compressors/vectors.h"
#include "tests/tensor/backends_for_test.h"

namespace ps {
namespace {

constexpr int64_t kChunk = 64 * 1024;

std::vector<int64_t> Sizes() {
  return {0,  1,  15,   16,         17,     31,         32,
          33, 63, 1025, kChunk - 1, kChunk, kChunk + 1, 3 * kChunk + 777};
}

Selection ReferenceAbove(const std::vector<float>& u, float threshold) {
  Selection selection;
  for (size_t i = 0; i < u.size(); ++i) {
    if (!(std::fabs(u[i]) > threshold)) continue;
    selection.indices.push_back(static_cast<uint32_t>(i));
    selection.values.push_back(u[i]);
  }
  return selection;
}

void ExpectSame(const Selection& a, const Selection& b) {
  ASSERT_EQ(a.indices, b.indices);
  ASSERT_EQ(a.values, b.values);
}

class AddAndMeasureTest : public BackendTest {};
class SumTest : public BackendTest {};
class ScalingTest : public BackendTest {};
class GatherTest : public BackendTest {};
class SieveTest : public BackendTest {};
class CountMagnitudesTest : public BackendTest {};
class SelectEqualTest : public BackendTest {};
INSTANTIATE_OVER_BACKENDS(AddAndMeasureTest);
INSTANTIATE_OVER_BACKENDS(SumTest);
INSTANTIATE_OVER_BACKENDS(ScalingTest);
INSTANTIATE_OVER_BACKENDS(GatherTest);
INSTANTIATE_OVER_BACKENDS(SieveTest);
INSTANTIATE_OVER_BACKENDS(CountMagnitudesTest);
INSTANTIATE_OVER_BACKENDS(SelectEqualTest);

TEST_P(AddAndMeasureTest, EqualsPlainLoops) {
  for (const int64_t n : Sizes()) {
    for (const std::string& name : VectorNames()) {
      SCOPED_TRACE(testing::Message() << name << " of " << n);
      const std::vector<float> residual = MakeVector(name, n, 1);
      std::vector<float> gradient = MakeVector(name, n, 2);
      // Some sums are exactly zero.
      for (int64_t i = 0; i < n; i += 5) gradient[i] = -residual[i];
      Tensor sum = Put(std::vector<float>(n));
      Moments moments;
      ASSERT_TRUE(kernels()
                      .AddAndMeasure(In(residual), In(gradient), n, sum.data(),
                                     &moments)
                      .ok());
      const std::vector<float> out = Get(sum);
      Moments expected;
      float min = std::numeric_limits<float>::infinity();
      for (int64_t i = 0; i < n; ++i) {
        const float u = residual[i] + gradient[i];
        ASSERT_EQ(out[i], u);
        const double a = std::fabs(u);
        expected.sum += a;
        expected.sum_squares += a * a;
        expected.max = std::max(expected.max, std::fabs(u));
        if (u == 0) continue;
        ++expected.num_nonzero;
        min = std::min(min, std::fabs(u));
      }
      if (expected.num_nonzero > 0) expected.min_nonzero = min;
      EXPECT_EQ(moments.num_nonzero, expected.num_nonzero);
      EXPECT_EQ(moments.num_non_finite, 0);
      EXPECT_EQ(moments.max, expected.max);
      EXPECT_EQ(moments.min_nonzero, expected.min_nonzero);
      EXPECT_NEAR(moments.sum, expected.sum, 1e-12 * expected.sum);
      EXPECT_NEAR(moments.sum_squares, expected.sum_squares,
                  1e-12 * expected.sum_squares);
    }
  }
}

TEST_P(AddAndMeasureTest, CountsWhatIsNotFinite) {
  const int64_t n = 2 * kChunk + 21;
  const std::vector<float> residual = MakeVector("laplace", n, 1);
  std::vector<float> gradient = MakeVector("laplace", n, 2);
  gradient[0] = std::numeric_limits<float>::quiet_NaN();
  gradient[kChunk - 1] = -std::numeric_limits<float>::infinity();
  gradient[n - 1] = -std::numeric_limits<float>::quiet_NaN();
  Tensor out = Put(std::vector<float>(n));
  Moments moments;
  ASSERT_TRUE(
      kernels()
          .AddAndMeasure(In(residual), In(gradient), n, out.data(), &moments)
          .ok());
  EXPECT_EQ(moments.num_non_finite, 3);
}

TEST_P(SumTest, EqualsPlainLoops) {
  for (const int64_t n : Sizes()) {
    for (const std::string& name : VectorNames()) {
      SCOPED_TRACE(testing::Message() << name << " of " << n);
      const std::vector<float> u = MakeVector(name, n, 5);
      // Sums of many equal numbers: in double, rounding would show.
      long double values = 0;
      double magnitudes = 0;
      long double logs = 0;
      double log_magnitudes = 0;
      for (const float each : u) {
        values += each;
        magnitudes += std::fabs(each);
        if (each == 0) continue;
        logs += std::log(std::fabs(double{each}));
        log_magnitudes += std::fabs(std::log(std::fabs(double{each})));
      }
      double sum;
      ASSERT_TRUE(kernels().SumValues(In(u), n, &sum).ok());
      EXPECT_NEAR(sum, static_cast<double>(values), 1e-13 * magnitudes);
      ASSERT_TRUE(kernels().SumLogs(In(u), n, &sum).ok());
      EXPECT_NEAR(sum, static_cast<double>(logs), 1e-13 * log_magnitudes);
    }
  }
}

TEST_P(SumTest, LogsOfTheLargestAndTheSmallestMagnitudesAreFinite) {
  for (const float x : {std::numeric_limits<float>::max(),
                        std::numeric_limits<float>::denorm_min()}) {
    const std::vector<float> u(1000, -x);
    double sum;
    ASSERT_TRUE(kernels().SumLogs(In(u), 1000, &sum).ok());
    EXPECT_NEAR(sum / (1000 * std::log(double{x})), 1, 1e-13);
  }
}

TEST_P(SumTest, SquaresEqualPlainLoopsAndAreNotFiniteIfAnElementIsNot) {
  for (const int64_t n : Sizes()) {
    for (const std::string& name : VectorNames()) {
      std::vector<float> u = MakeVector(name, n, 5);
      long double expected = 0;
      for (const float each : u) expected += double{each} * each;
      double sum;
      ASSERT_TRUE(kernels().SumSquares(In(u), n, &sum).ok());
      EXPECT_NEAR(sum, static_cast<double>(expected), 1e-13L * expected)
          << name << " of " << n;
      if (n == 0) continue;
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                              -std::numeric_limits<float>::infinity()}) {
        u[n / 2] = bad;
        ASSERT_TRUE(kernels().SumSquares(In(u), n, &sum).ok());
        EXPECT_FALSE(std::isfinite(sum));
      }
    }
  }
}

// Products and sums are each rounded, as written: the test is compiled without
// fused multiply-adds.
TEST_P(ScalingTest, EqualsPlainLoopsBitByBit) {
  for (const int64_t n : Sizes()) {
    for (const std::string& name : VectorNames()) {
      SCOPED_TRACE(testing::Message() << name << " of " << n);
      const std::vector<float> x = MakeVector(name, n, 1);
      const std::vector<float> y = MakeVector(name, n, 2);
      Tensor result = Put(std::vector<float>(n));
      ASSERT_TRUE(kernels().Scale({In(x), 0.3f}, n, result.data()).ok());
      std::vector<float> out = Get(result);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], 0.3f * x[i]);
      ASSERT_TRUE(
          kernels()
              .AddScaled({In(x), 0.9f}, {In(y), -0.7f}, n, result.data())
              .ok());
      out = Get(result);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(out[i], 0.9f * x[i] + -0.7f * y[i]);
      }
    }
  }
}

TEST_P(ScalingTest, WhatIsNotFiniteStaysSo) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity,
                          std::numeric_limits<float>::max()}) {
    const std::vector<float> x(33, bad);
    Tensor out = Put(x);
    // In place.
    ASSERT_TRUE(
        kernels().AddScaled({out.data(), 1}, {In(x), 1}, 33, out.data()).ok());
    for (const float each : Get(out)) EXPECT_FALSE(std::isfinite(each));
  }
}

TEST_P(GatherTest, ReadsTheElementsInTheOrderOfTheIndices) {
  const std::vector<float> u = {1, 2, 3};
  Selection selection;
  selection.indices = {2, 0};
  ASSERT_TRUE(kernels().Gather(In(u), &selection).ok());
  EXPECT_EQ(selection.values, (std::vector<float>{3, 1}));
  Tensor out = Put({0, 0, 7});
  ASSERT_TRUE(kernels().GatherTo(In(u), {2, 0}, out.data()).ok());
  EXPECT_EQ(Get(out), (std::vector<float>{3, 1, 7}));
}

TEST_P(GatherTest, ScatterAndClearWriteWhereTheyAreTold) {
  Tensor u = Put({1, 2, 3, 4, 5});
  Selection selection;
  selection.indices = {3, 0};
  selection.values = {-4, -1};
  ASSERT_TRUE(kernels().Scatter(selection, u.data()).ok());
  EXPECT_EQ(Get(u), (std::vector<float>{-1, 2, 3, -4, 5}));
  ASSERT_TRUE(kernels().Clear(u.data() + 1, 3).ok());
  EXPECT_EQ(Get(u), (std::vector<float>{-1, 0, 0, 0, 5}));
  selection.clear();
  ASSERT_TRUE(kernels().Scatter(selection, u.data()).ok());
  ASSERT_TRUE(kernels().Clear(u.data(), 0).ok());
  EXPECT_EQ(Get(u), (std::vector<float>{-1, 0, 0, 0, 5}));
}

TEST_P(GatherTest, AddAtAddsWhereItIsTold) {
  Tensor u = Put({1, 2, 3, 4, 1e8f});
  Selection selection;
  selection.indices = {4, 0};
  selection.values = {3, -1.5f};
  ASSERT_TRUE(kernels().AddAt(selection, u.data()).ok());
  EXPECT_EQ(Get(u), (std::vector<float>{-0.5f, 2, 3, 4, 1e8f + 3}));
  selection.clear();
  ASSERT_TRUE(kernels().AddAt(selection, u.data()).ok());
  EXPECT_EQ(Get(u), (std::vector<float>{-0.5f, 2, 3, 4, 1e8f + 3}));
}

// Long enough for stores past the caches, with aligned and unaligned output.
TEST_P(AddAndMeasureTest, LongVectorsDoNotDependOnAlignment) {
  const int64_t n = (int64_t{4} << 20) + 37;
  const std::vector<float> residual = MakeVector("laplace", n, 1);
  const std::vector<float> gradient = MakeVector("gaussian", n, 2);
  const Tensor storage = Put(std::vector<float>(n + 1));
  std::vector<Moments> results;
  for (const int64_t begin : {0, 1}) {
    Tensor out = storage.Slice(begin, begin + n);
    Moments moments;
    ASSERT_TRUE(
        kernels()
            .AddAndMeasure(In(residual), In(gradient), n, out.data(), &moments)
            .ok());
    const std::vector<float> sum = Get(out);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(sum[i], residual[i] + gradient[i]);
    }
    results.push_back(moments);
  }
  for (const Moments& moments : results) {
    EXPECT_EQ(moments.sum, results[0].sum);
    EXPECT_EQ(moments.sum_squares, results[0].sum_squares);
  }
}

TEST_P(SieveTest, MeasuresAndSelectsLikePlainLoops) {
  const auto sieve = kernels().NewSieve();
  for (const int64_t n : Sizes()) {
    for (const std::string& name : VectorNames()) {
      const std::vector<float> u = MakeVector(name, n, 3);
      const float scale = name == "denormal" ? 1e-41f : 1.0f;
      for (const float location : {0.0f, 0.25f * scale, 1.4f * scale}) {
        SCOPED_TRACE(testing::Message()
                     << name << " of " << n << " above " << location);
        const Selection expected = ReferenceAbove(u, location);
        sieve->Reset(In(u), n);
        Exceedances exceedances;
        ASSERT_TRUE(
            sieve->MeasureAbove(location, 2 * location, &exceedances).ok());
        double sum = 0;
        double sum_squares = 0;
        for (const float value : expected.values) {
          const double y = double{std::fabs(value)} - location;
          sum += y;
          sum_squares += y * y;
        }
        EXPECT_EQ(exceedances.count, expected.size());
        EXPECT_NEAR(exceedances.sum, sum, 1e-12 * sum);
        EXPECT_NEAR(exceedances.sum_squares, sum_squares, 1e-12 * sum_squares);
        Selection selection;
        ASSERT_TRUE(sieve->SelectAbove(location, &selection).ok());
        ExpectSame(selection, expected);
      }
    }
  }
}

TEST_P(SieveTest, NegativeThresholdSelectsEverything) {
  const auto sieve = kernels().NewSieve();
  const std::vector<float> u = MakeVector("sparse", kChunk + 5, 3);
  sieve->Reset(In(u), u.size());
  Selection selection;
  ASSERT_TRUE(sieve->SelectAbove(-1, &selection).ok());
  EXPECT_EQ(selection.values, u);
}

TEST_P(SieveTest, EqualIsNotAbove) {
  const auto sieve = kernels().NewSieve();
  const std::vector<float> u = MakeVector("constant", 1000, 1);
  sieve->Reset(In(u), u.size());
  Exceedances exceedances;
  ASSERT_TRUE(sieve->MeasureAbove(0.25f, 0.25f, &exceedances).ok());
  EXPECT_EQ(exceedances.count, 0);
  const float below = std::nextafter(0.25f, 0.0f);
  ASSERT_TRUE(sieve->MeasureAbove(below, below, &exceedances).ok());
  EXPECT_EQ(exceedances.count, 1000);
}

// Estimates may guess because of this: results are bitwise the same whatever
// was kept aside.
TEST_P(SieveTest, GuessesNeverShow) {
  for (const char* name : {"laplace", "gaussian", "heavy", "sparse"}) {
    const int64_t n = 5 * kChunk + 4321;
    const std::vector<float> u = MakeVector(name, n, 8);
    const std::vector<float> locations = {0.7f, 1.4f, 2.0f, 1.9f, 2.8f};
    std::vector<Exceedances> plain;
    const auto sieve = kernels().NewSieve();
    // Up to 1, every guess is too low, and what is kept also serves a lower
    // location; from 1.2 to 3, the guess is right for some and too high for
    // others.
    for (const float guess : {0.0f, 0.9f, 1.0f, 1.2f, 1.5f, 3.0f}) {
      SCOPED_TRACE(testing::Message() << name << " guess " << guess);
      sieve->Reset(In(u), n);
      for (size_t i = 0; i < locations.size(); ++i) {
        Exceedances measured;
        ASSERT_TRUE(
            sieve->MeasureAbove(locations[i], guess * locations[i], &measured)
                .ok());
        if (plain.size() <= i) plain.push_back(measured);
        EXPECT_EQ(measured.count, plain[i].count);
        EXPECT_EQ(measured.sum, plain[i].sum);
        EXPECT_EQ(measured.sum_squares, plain[i].sum_squares);
        // A count keeps other elements aside for the next location.
        int64_t count = 0;
        ASSERT_TRUE(
            sieve
                ->CountAbove(locations[i], guess * guess * locations[i], &count)
                .ok());
        EXPECT_EQ(count, plain[i].count);
        Selection selection;
        ASSERT_TRUE(sieve->SelectAbove(locations[i], &selection).ok());
        ExpectSame(selection, ReferenceAbove(u, locations[i]));
      }
    }
  }
}

// Forming the sum and searching it in one pass gives, bit for bit, the same
// results as two passes.
TEST_P(SieveTest, SumIsSiftedAsIfItHadBeenFormedBefore) {
  constexpr int64_t kStreamed = int64_t{4} << 20;  // Stored past the caches.
  std::vector<int64_t> sizes = Sizes();
  sizes.push_back(kStreamed + 37);
  const auto sieve = kernels().NewSieve();
  const auto plain = kernels().NewSieve();
  for (const int64_t n : sizes) {
    for (const std::string name : {"laplace", "heavy", "sparse"}) {
      if (n > kStreamed && name != "heavy") continue;
      const std::vector<float> residual = MakeVector(name, n, 1);
      const std::vector<float> gradient = MakeVector("laplace", n, 2);
      Tensor out = Put(std::vector<float>(n));
      Moments expected_moments;
      ASSERT_TRUE(kernels()
                      .AddAndMeasure(In(residual), In(gradient), n, out.data(),
                                     &expected_moments)
                      .ok());
      const std::vector<float> expected = Get(out);
      const std::vector<SieveGuess> guesses = {
          {0, SieveGuess::Sums::kMagnitudes},
          {0, SieveGuess::Sums::kExceedances},
          {0.9f, SieveGuess::Sums::kExceedances},
          {std::numeric_limits<float>::infinity(), SieveGuess::Sums::kNone}};
      for (const SieveGuess& guess : guesses) {
        SCOPED_TRACE(testing::Message()
                     << name << " of " << n << " above " << guess.keep_above);
        out = Put(std::vector<float>(n));
        Moments moments;
        ASSERT_TRUE(sieve
                        ->ResetToSum(In(residual), In(gradient), n, guess,
                                     out.data(), &moments)
                        .ok());
        ASSERT_EQ(Get(out), expected);
        if (guess.sums != SieveGuess::Sums::kMagnitudes) {
          EXPECT_EQ(moments.sum, 0);
          EXPECT_EQ(moments.sum_squares, 0);
          ASSERT_TRUE(kernels().SumMagnitudes(out.data(), n, &moments).ok());
        }
        EXPECT_EQ(moments.sum, expected_moments.sum);
        EXPECT_EQ(moments.sum_squares, expected_moments.sum_squares);
        EXPECT_EQ(moments.max, expected_moments.max);
        EXPECT_EQ(moments.min_nonzero, expected_moments.min_nonzero);
        EXPECT_EQ(moments.num_nonzero, expected_moments.num_nonzero);
        EXPECT_EQ(moments.num_non_finite, 0);
        // The vector itself gives the statistics that forming it took; after
        // the second time, a list does.
        plain->Reset(out.data(), n);
        const float location = std::min(guess.keep_above, 2.2f);
        for (const float next : {location, 1.2f * location}) {
          Exceedances expected_above;
          Exceedances above;
          ASSERT_TRUE(
              plain->MeasureAbove(location, next, &expected_above).ok());
          ASSERT_TRUE(sieve->MeasureAbove(location, next, &above).ok());
          EXPECT_EQ(above.count, expected_above.count);
          EXPECT_EQ(above.sum, expected_above.sum);
          EXPECT_EQ(above.sum_squares, expected_above.sum_squares);
        }
        // Below, at and above what was kept.
        for (const float threshold : {0.3f, 0.9f, 1.7f, 2.5f}) {
          Selection selection;
          ASSERT_TRUE(sieve->SelectAbove(threshold, &selection).ok());
          ExpectSame(selection, ReferenceAbove(expected, threshold));
        }
      }
    }
  }
}

TEST_P(SieveTest, SumCountsWhatIsNotFinite) {
  const auto sieve = kernels().NewSieve();
  std::vector<float> gradient = MakeVector("laplace", 1000, 1);
  const std::vector<float> residual(1000);
  gradient[3] = std::numeric_limits<float>::quiet_NaN();
  gradient[999] = std::numeric_limits<float>::infinity();
  Tensor out = Put(std::vector<float>(1000));
  SieveGuess guess;
  guess.keep_above = 2;
  guess.sums = SieveGuess::Sums::kExceedances;
  Moments moments;
  ASSERT_TRUE(sieve
                  ->ResetToSum(In(residual), In(gradient), 1000, guess,
                               out.data(), &moments)
                  .ok());
  EXPECT_EQ(moments.num_non_finite, 2);
}

// This includes the elements that do not fill a group of lanes, whose sums of
// squares use other instructions: a fused multiply-add would show.
TEST_P(SieveTest, ListsGiveTheSumsOfTheVectorBitForBit) {
  const auto from_vector = kernels().NewSieve();
  const auto from_list = kernels().NewSieve();
  for (int64_t n = 65; n < 80; ++n) {
    for (uint64_t seed = 0; seed < 200; seed += GetParam() == "cuda" ? 9 : 1) {
      const std::vector<float> u = MakeVector("heavy", n, seed);
      const float location = 1e-6f * static_cast<float>(seed + 1);
      Exceedances expected;
      Exceedances listed;
      from_vector->Reset(In(u), n);
      ASSERT_TRUE(from_vector->MeasureAbove(location, 1, &expected).ok());
      from_list->Reset(In(u), n);
      ASSERT_TRUE(from_list->MeasureAbove(0, 0, &listed).ok());
      ASSERT_TRUE(from_list->MeasureAbove(location, location, &listed).ok());
      ASSERT_EQ(listed.count, expected.count);
      ASSERT_EQ(listed.sum, expected.sum) << n << ", seed " << seed;
      ASSERT_EQ(listed.sum_squares, expected.sum_squares)
          << n << ", seed " << seed;
    }
  }
}

TEST_P(SieveTest, ResetForgetsTheVectorBefore) {
  const auto sieve = kernels().NewSieve();
  const std::vector<float> big = MakeVector("laplace", 3 * kChunk, 1);
  const std::vector<float> small = MakeVector("laplace", 100, 2);
  Exceedances exceedances;
  sieve->Reset(In(big), big.size());
  ASSERT_TRUE(sieve->MeasureAbove(1, 1, &exceedances).ok());
  sieve->Reset(In(small), small.size());
  Selection selection;
  ASSERT_TRUE(sieve->SelectAbove(2, &selection).ok());
  ExpectSame(selection, ReferenceAbove(small, 2));
  const float infinity = std::numeric_limits<float>::infinity();
  ASSERT_TRUE(sieve->MeasureAbove(infinity, infinity, &exceedances).ok());
  EXPECT_EQ(exceedances.count, 0);
}

TEST_P(CountMagnitudesTest, CountsByBits) {
  const std::vector<float> u = {0.0f, -0.0f, 1.0f, -1.0f, 1.06f, 2.0f};
  std::vector<int64_t> counts;
  MagnitudeBins bins;
  ASSERT_TRUE(kernels().CountMagnitudes(In(u), u.size(), bins, &counts).ok());
  EXPECT_EQ(counts[0], 2);
  // 1.0 is 0x3f800000; a bin is 2^-4 wide there.
  EXPECT_EQ(counts[0x3f800000 >> 19], 3);
  EXPECT_EQ(counts[0x40000000 >> 19], 1);
  bins.low = 0x3f800000;
  bins.shift = 7;
  bins.stride = 2;
  ASSERT_TRUE(kernels().CountMagnitudes(In(u), u.size(), bins, &counts).ok());
  EXPECT_EQ(counts[0], 1);
  EXPECT_EQ(counts[(0x3f87ae14 - 0x3f800000) >> 7], 1);
}

TEST_P(SelectEqualTest, StopsAtTheLimit) {
  const std::vector<float> u = {2, 0, -2, 1, -0.0f, 2};
  Selection selection;
  ASSERT_TRUE(kernels().SelectEqual(In(u), 6, 2, 2, &selection).ok());
  EXPECT_EQ(selection.indices, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(selection.values, (std::vector<float>{2, -2}));
  ASSERT_TRUE(kernels().SelectEqual(In(u), 6, 0, 9, &selection).ok());
  EXPECT_EQ(selection.indices, (std::vector<uint32_t>{1, 4}));
}

}  // namespace
}  // namespace ps
