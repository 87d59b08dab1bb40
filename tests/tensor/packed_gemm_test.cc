// Products with a packed matrix, compared with their definition.

#include "tensor/cpu/packed_gemm.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/thread_pool.h"
#include "gtest/gtest.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

struct ProductCase {
  int64_t m;
  int64_t n;
  int64_t k;
};

using Aligned = std::unique_ptr<float, decltype(&std::free)>;

Aligned AllocateAligned(int64_t n) {
  return Aligned(
      static_cast<float*>(std::aligned_alloc(64, (n + 15) / 16 * 64)),
      &std::free);
}

// Multiplies into C, which already holds `initial`.
std::vector<float> Multiply(const ProductCase& c, const std::vector<float>& b,
                            bool transposed, bool accumulate, float initial,
                            int num_threads) {
  ThreadPool pool(num_threads);
  PackedProduct product;
  product.m = c.m;
  product.shape = {c.k, c.n};
  const Aligned packed = AllocateAligned(product.shape.num_floats());
  Pack(&pool, product.shape, b.data(), transposed, packed.get());
  const std::vector<float> a = RandomValues(c.m * c.k, 1);
  std::vector<float> result(c.m * c.n, initial);
  product.a = a.data();
  product.packed = packed.get();
  product.accumulate = accumulate;
  product.c = result.data();
  MultiplyPacked(&pool, product);
  return result;
}

class Packed : public testing::TestWithParam<ProductCase> {};

TEST_P(Packed, EqualsItsDefinitionHoweverBLies) {
  const ProductCase& c = GetParam();
  const std::vector<float> a = RandomValues(c.m * c.k, 1);
  const std::vector<float> b = RandomValues(c.k * c.n, 2);
  std::vector<float> transpose(b.size());
  std::vector<double> expected(c.m * c.n);
  for (int64_t k = 0; k < c.k; ++k) {
    for (int64_t j = 0; j < c.n; ++j) {
      transpose[j * c.k + k] = b[k * c.n + j];
      for (int64_t i = 0; i < c.m; ++i) {
        expected[i * c.n + j] += double{a[i * c.k + k]} * b[k * c.n + j];
      }
    }
  }
  const std::vector<float> product = Multiply(c, b, false, false, 1e30f, 1);
  // A sum's rounding error grows like the square root of its length.
  ExpectClose(product, expected, 1e-5 + 2e-7 * static_cast<double>(c.k));
  EXPECT_EQ(Multiply(c, transpose, true, false, 1e30f, 1), product);
  EXPECT_EQ(Multiply(c, b, false, false, 1e30f, 3), product);
  for (double& value : expected) value += 0.5;
  ExpectClose(Multiply(c, b, false, true, 0.5f, 2), expected,
              1e-5 + 2e-7 * static_cast<double>(c.k));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Packed,
    testing::Values(ProductCase{1, 1, 1}, ProductCase{20, 52, 13},
                    ProductCase{7, 16, 4}, ProductCase{13, 15, 6},
                    ProductCase{6, 17, 33},
                    // Several chunks of panels, and several blocks of rows of B
                    // and A.
                    ProductCase{20, 130, 9}, ProductCase{3, 5, 4099},
                    ProductCase{130, 20, 601}),
    [](const testing::TestParamInfo<ProductCase>& info) {
      return absl::StrCat(info.param.m, "x", info.param.n, "x", info.param.k);
    });

}  // namespace
}  // namespace ps
