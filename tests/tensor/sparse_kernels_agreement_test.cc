// Every backend's sparse kernels find what one thread of the CPU finds: the CPU
// with any number of threads has the same bits, and a device the same elements,
// counts and extrema, with sums within rounding.
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/sparse_kernels.h"
#include "tests/compressors/vectors.h"
#include "tests/tensor/backends_for_test.h"

namespace ps {
namespace {

constexpr int64_t kChunk = 64 * 1024;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Sizes around tiles of 512, segments of 8192, and the CPU's lanes and chunk.
std::vector<int64_t> Sizes() {
  return {0,    1,          15,     16,         17,
          31,   33,         511,    512,        513,
          4097, 8191,       8192,   8193,       8209,
          9999, kChunk - 1, kChunk, kChunk + 1, 3 * kChunk + 4777};
}

// Long vectors are slow on an emulated device: one kind will do.
bool IsTooMuch(const std::string& name, int64_t n) {
  return n > 9999 && name != "laplace";
}

void ExpectSelection(const Selection& actual, const Selection& expected) {
  ASSERT_EQ(actual.indices, expected.indices);
  ASSERT_EQ(actual.values, expected.values);
}

class SparseKernelsAgreementTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    cpu_ = NewBackendForTest("cpu").value();
  }

  SparseKernels& cpu() { return cpu_->sparse(); }

  // `scale`: the sum of the magnitudes of what is added up.
  void ExpectSum(double actual, double expected, double scale,
                 const char* what) {
    const double tolerance = GetParam() == "cuda" ? 1e-13 * scale : 0;
    EXPECT_LE(std::fabs(actual - expected), tolerance)
        << what << " is " << actual << "; the CPU has " << expected;
  }
  void ExpectSame(const Moments& actual, const Moments& expected) {
    EXPECT_EQ(actual.num_nonzero, expected.num_nonzero);
    EXPECT_EQ(actual.num_non_finite, expected.num_non_finite);
    EXPECT_EQ(actual.max, expected.max);
    EXPECT_EQ(actual.min_nonzero, expected.min_nonzero);
    ExpectSum(actual.sum, expected.sum, expected.sum, "sum");
    ExpectSum(actual.sum_squares, expected.sum_squares, expected.sum_squares,
              "sum of squares");
  }
  void ExpectSame(const Exceedances& actual, const Exceedances& expected) {
    EXPECT_EQ(actual.count, expected.count);
    ExpectSum(actual.sum, expected.sum, expected.sum, "sum");
    ExpectSum(actual.sum_squares, expected.sum_squares, expected.sum_squares,
              "sum of squares");
  }

 private:
  std::unique_ptr<Backend> cpu_;
};
INSTANTIATE_OVER_BACKENDS(SparseKernelsAgreementTest);

TEST_P(SparseKernelsAgreementTest, SumsAndMoments) {
  for (const int64_t n : Sizes()) {
    for (const std::string& name : VectorNames()) {
      if (IsTooMuch(name, n)) continue;
      SCOPED_TRACE(testing::Message() << name << " of " << n);
      const std::vector<float> residual = MakeVector(name, n, 1);
      std::vector<float> gradient = MakeVector("laplace", n, 2);
      for (int64_t i = 0; i < n; i += 5) gradient[i] = -residual[i];
      std::vector<float> out(n);
      Tensor device_out = Put(out);
      Moments expected;
      Moments actual;
      ASSERT_TRUE(cpu()
                      .AddAndMeasure(residual.data(), gradient.data(), n,
                                     out.data(), &expected)
                      .ok());
      ASSERT_TRUE(kernels()
                      .AddAndMeasure(In(residual), In(gradient), n,
                                     device_out.data(), &actual)
                      .ok());
      ASSERT_EQ(Get(device_out), out);
      ExpectSame(actual, expected);
      const float* const u = device_out.data();
      ASSERT_TRUE(cpu().SumMagnitudes(out.data(), n, &expected).ok());
      ASSERT_TRUE(kernels().SumMagnitudes(u, n, &actual).ok());
      ExpectSame(actual, expected);
      double cpu_sum;
      double sum;
      ASSERT_TRUE(cpu().SumValues(out.data(), n, &cpu_sum).ok());
      ASSERT_TRUE(kernels().SumValues(u, n, &sum).ok());
      ExpectSum(sum, cpu_sum, expected.sum, "sum of values");
      ASSERT_TRUE(cpu().SumSquares(out.data(), n, &cpu_sum).ok());
      ASSERT_TRUE(kernels().SumSquares(u, n, &sum).ok());
      ExpectSum(sum, cpu_sum, cpu_sum, "sum of squares");
      ASSERT_TRUE(cpu().SumLogs(out.data(), n, &cpu_sum).ok());
      ASSERT_TRUE(kernels().SumLogs(u, n, &sum).ok());
      // The logarithm of the smallest float is -103.
      ExpectSum(sum, cpu_sum, 104.0 * static_cast<double>(n), "sum of logs");
    }
  }
}

TEST_P(SparseKernelsAgreementTest, Sieves) {
  const auto cpu_sieve = cpu().NewSieve();
  const auto sieve = kernels().NewSieve();
  for (const int64_t n : Sizes()) {
    for (const std::string name : {"laplace", "heavy", "sparse", "constant"}) {
      if (IsTooMuch(name, n)) continue;
      const std::vector<float> residual = MakeVector(name, n, 1);
      const std::vector<float> gradient = MakeVector("laplace", n, 2);
      // 0 keeps more than a list holds, 0.9 many, 1.9 few.
      for (const float keep_above : {0.0f, 0.9f, 1.9f, kInfinity}) {
        SCOPED_TRACE(testing::Message()
                     << name << " of " << n << " above " << keep_above);
        std::vector<float> out(n);
        Tensor device_out = Put(out);
        SieveGuess guess;
        guess.keep_above = keep_above;
        Moments expected;
        Moments actual;
        ASSERT_TRUE(cpu_sieve
                        ->ResetToSum(residual.data(), gradient.data(), n, guess,
                                     out.data(), &expected)
                        .ok());
        ASSERT_TRUE(sieve
                        ->ResetToSum(In(residual), In(gradient), n, guess,
                                     device_out.data(), &actual)
                        .ok());
        ExpectSame(actual, expected);
        // Up, from list to list; then down again, below what was kept.
        for (const float location : {0.5f, 1.5f, 2.0f, 2.5f, 0.7f, 3.0f}) {
          Exceedances cpu_above;
          Exceedances above;
          const float keep_next = 0.9f * location;
          ASSERT_TRUE(
              cpu_sieve->MeasureAbove(location, keep_next, &cpu_above).ok());
          ASSERT_TRUE(sieve->MeasureAbove(location, keep_next, &above).ok());
          ExpectSame(above, cpu_above);
          Selection cpu_selection;
          Selection selection;
          for (const float threshold : {location, 1.1f * location, 0.3f}) {
            ASSERT_TRUE(cpu_sieve->SelectAbove(threshold, &cpu_selection).ok());
            ASSERT_TRUE(sieve->SelectAbove(threshold, &selection).ok());
            ExpectSelection(selection, cpu_selection);
          }
        }
      }
    }
  }
}

TEST_P(SparseKernelsAgreementTest, CountsAndSelections) {
  for (const int64_t n : Sizes()) {
    for (const std::string& name : VectorNames()) {
      if (IsTooMuch(name, n)) continue;
      SCOPED_TRACE(testing::Message() << name << " of " << n);
      const std::vector<float> u = MakeVector(name, n, 3);
      const float* const device_u = In(u);
      for (const int64_t stride : {1, 2, 7, 100000}) {
        MagnitudeBins bins;
        bins.stride = stride;
        std::vector<int64_t> expected;
        std::vector<int64_t> actual;
        ASSERT_TRUE(cpu().CountMagnitudes(u.data(), n, bins, &expected).ok());
        ASSERT_TRUE(kernels().CountMagnitudes(device_u, n, bins, &actual).ok());
        ASSERT_EQ(actual, expected);
        bins.low = MagnitudeBits(0.5f);
        bins.shift = 10;
        ASSERT_TRUE(cpu().CountMagnitudes(u.data(), n, bins, &expected).ok());
        ASSERT_TRUE(kernels().CountMagnitudes(device_u, n, bins, &actual).ok());
        ASSERT_EQ(actual, expected);
      }
      for (const float magnitude : {0.0f, 0.25f, n > 0 ? u[n / 2] : 1.0f}) {
        for (const int64_t limit :
             {int64_t{0}, int64_t{1}, int64_t{300}, kChunk, 4 * kChunk}) {
          Selection expected;
          Selection actual;
          ASSERT_TRUE(
              cpu().SelectEqual(u.data(), n, magnitude, limit, &expected).ok());
          ASSERT_TRUE(kernels()
                          .SelectEqual(device_u, n, magnitude, limit, &actual)
                          .ok());
          ExpectSelection(actual, expected);
        }
      }
    }
  }
}

// Where a list of a chunk would hold an eighth of it.
TEST_P(SparseKernelsAgreementTest, ListsUpToTheirCapacity) {
  constexpr int64_t kCapacity = kChunk / 8;
  const std::vector<float> residual(2 * kChunk);
  for (const int64_t above : {kCapacity - 1, kCapacity, kCapacity + 1}) {
    SCOPED_TRACE(above);
    std::vector<float> gradient(2 * kChunk, 0.5f);
    for (int64_t i = 0; i < above; ++i) {
      gradient[7 * i] = 2 + 1e-4f * static_cast<float>(i);
    }
    std::vector<float> out(2 * kChunk);
    Tensor device_out = Put(out);
    const auto cpu_sieve = cpu().NewSieve();
    const auto sieve = kernels().NewSieve();
    SieveGuess guess;
    guess.keep_above = 1;
    Moments moments;
    ASSERT_TRUE(cpu_sieve
                    ->ResetToSum(residual.data(), gradient.data(), 2 * kChunk,
                                 guess, out.data(), &moments)
                    .ok());
    ASSERT_TRUE(sieve
                    ->ResetToSum(In(residual), In(gradient), 2 * kChunk, guess,
                                 device_out.data(), &moments)
                    .ok());
    for (const float location : {1.0f, 1.5f, 2.1f}) {
      Selection expected;
      Selection actual;
      ASSERT_TRUE(cpu_sieve->SelectAbove(location, &expected).ok());
      ASSERT_TRUE(sieve->SelectAbove(location, &actual).ok());
      ExpectSelection(actual, expected);
      Exceedances cpu_above;
      Exceedances device_above;
      ASSERT_TRUE(cpu_sieve->MeasureAbove(location, location, &cpu_above).ok());
      ASSERT_TRUE(sieve->MeasureAbove(location, location, &device_above).ok());
      ExpectSame(device_above, cpu_above);
    }
  }
}

// More than is copied from the device at a time.
TEST_P(SparseKernelsAgreementTest, LongSelections) {
  constexpr int64_t kSize = (int64_t{5} << 18) + 77;
  const std::vector<float> u = MakeVector("gaussian", kSize, 4);
  Tensor device_u = Put(u);
  const auto sieve = kernels().NewSieve();
  sieve->Reset(device_u.data(), kSize);
  Selection everything;
  ASSERT_TRUE(sieve->SelectAbove(-1, &everything).ok());
  ASSERT_EQ(everything.values, u);
  for (int64_t i = 0; i < kSize; ++i) ASSERT_EQ(everything.indices[i], i);
  std::vector<float> negated = u;
  for (float& value : negated) value = -value;
  everything.values = negated;
  ASSERT_TRUE(kernels().Scatter(everything, device_u.data()).ok());
  ASSERT_EQ(Get(device_u), negated);
  ASSERT_TRUE(kernels().Gather(device_u.data(), &everything).ok());
  ASSERT_EQ(everything.values, negated);
  std::vector<float> sums = negated;
  for (int64_t i = 0; i < kSize; ++i) {
    everything.values[i] = 0.001f * u[kSize - 1 - i];
    sums[i] += everything.values[i];
  }
  ASSERT_TRUE(kernels().AddAt(everything, device_u.data()).ok());
  ASSERT_EQ(Get(device_u), sums);
}

}  // namespace
}  // namespace ps
