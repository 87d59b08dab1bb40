#include "compressors/selectors/exact_top_k.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/cpu/cpu_sparse_kernels.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

// Selects by a full sort.
std::vector<uint32_t> Reference(const std::vector<float>& u, int64_t k) {
  std::vector<uint32_t> order(u.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&u](uint32_t a, uint32_t b) {
    return std::fabs(u[a]) > std::fabs(u[b]);
  });
  order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

void ExpectExact(const std::vector<float>& u, int64_t k) {
  const auto kernels = NewCpuSparseKernels(1);
  ExactTopK top_k(kernels.get());
  Selection selection;
  ASSERT_TRUE(top_k.Select(u.data(), u.size(), k, &selection).ok());
  ASSERT_EQ(selection.indices, Reference(u, k)) << "k = " << k;
  for (int64_t i = 0; i < k; ++i) {
    ASSERT_EQ(selection.values[i], u[selection.indices[i]]);
  }
}

TEST(ExactTopKTest, EqualsAFullSort) {
  for (const std::string& name : VectorNames()) {
    for (const int64_t n : {1, 2, 33, 5000}) {
      SCOPED_TRACE(testing::Message() << name << " of " << n);
      const std::vector<float> u = MakeVector(name, n, 6);
      for (const int64_t k : {int64_t{0}, int64_t{1}, n / 10, n / 2, n}) {
        ExpectExact(u, k);
      }
    }
  }
}

// Long enough that a sample guesses the threshold, and that a list of all ties
// would be too long.
constexpr int64_t kLong = (int64_t{1} << 21) + 12345;

TEST(ExactTopKTest, LongVectorsEqualAFullSort) {
  ExpectExact(DrawLaw("laplace", kLong, 1), 2000);
  ExpectExact(MakeVector("denormal", kLong, 1), 2000);
}

// What was kept aside while the sum was formed, by the threshold of another
// vector, never affects the result.
TEST(ExactTopKTest, VectorsThatChangeAtOnceEqualAFullSort) {
  constexpr int64_t kSize = 100000;
  constexpr int64_t kCount = 100;
  const auto kernels = NewCpuSparseKernels(2);
  ExactTopK top_k(kernels.get());
  const std::vector<float> residual(kSize, 0.0f);
  int iteration = 0;
  for (const float scale :
       {1.0f, 1.0f, 1.01f, 1000.0f, 0.0f, 1.0f, 1e-3f, 1e-3f, 1e-20f}) {
    std::vector<float> gradient = MakeVector("laplace", kSize, ++iteration);
    for (float& each : gradient) each *= scale;
    std::vector<float> u(kSize);
    SelectorInput input;
    input.residual = residual.data();
    input.gradient = gradient.data();
    input.u = u.data();
    input.n = kSize;
    input.target_count = kCount;
    Selected selected;
    CompressionStats stats;
    ASSERT_TRUE(top_k.SelectOfSum(input, &selected, &stats).ok());
    ASSERT_EQ(selected.elements.indices, Reference(gradient, kCount))
        << "iteration " << iteration;
  }
}

TEST(ExactTopKTest, ManyTiesGoToTheLowerIndex) {
  ExpectExact(MakeVector("constant", kLong, 1), 5000);
  ExpectExact(MakeVector("zero", kLong, 1), 5000);
  // The k-th is a zero: expects the non-zeros, and the first zeros.
  ExpectExact(MakeVector("sparse", kLong, 1), kLong / 4);
  // Values that differ only in the last of three levels of bits.
  std::vector<float> close(kLong);
  for (int64_t i = 0; i < kLong; ++i) {
    close[i] = 1 + 0x1p-23f * static_cast<float>(i % 5);
  }
  ExpectExact(close, 1000);
}

TEST(ExactTopKTest, GuessFromAMisleadingSampleIsPutRight) {
  // The sample takes every second element; the large ones lie between.
  std::vector<float> u = DrawLaw("laplace", kLong, 2);
  for (int64_t i = 0; i < kLong; i += 2) u[i] *= 1e-3f;
  ExpectExact(u, 4000);
  std::vector<float> other = DrawLaw("laplace", kLong, 2);
  for (int64_t i = 1; i < kLong; i += 2) other[i] *= 1e-3f;
  ExpectExact(other, 4000);
}

TEST(ExactTopKTest, TrimKeepsTheLargestInOrder) {
  Selection selection;
  selection.indices = {3, 5, 8, 9, 20};
  selection.values = {-2, 1, 2, -3, 2};
  TrimToTopK(3, &selection);
  EXPECT_EQ(selection.indices, (std::vector<uint32_t>{3, 8, 9}));
  EXPECT_EQ(selection.values, (std::vector<float>{-2, 2, -3}));
  EXPECT_EQ(SmallestMagnitude(selection), 2);
  TrimToTopK(7, &selection);
  EXPECT_EQ(selection.size(), 3);
}

}  // namespace
}  // namespace ps
