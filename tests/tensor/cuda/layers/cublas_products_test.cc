// How products are passed to cuBLAS, using a fake one.

#include "tensor/cuda/layer_device/cublas_products.h"

#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/cuda/layers/fake_cublas.h"

namespace ps {
namespace {

TEST(CublasProducts, MultipliesRowMajorMatricesInEveryCombination) {
  FakeCublas cublas;
  const auto products = CublasProducts::Create(FakeCublas::Functions(), {});
  ASSERT_TRUE(products.ok()) << products.status();
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const bool accumulate : {false, true}) {
        MatrixProduct p;
        p.m = 3, p.n = 5, p.k = 7;
        p.transpose_a = transpose_a;
        p.transpose_b = transpose_b;
        p.accumulate = accumulate;
        const std::vector<float> a = RandomValues(p.m * p.k, 1);
        const std::vector<float> b = RandomValues(p.k * p.n, 2);
        std::vector<float> c = RandomValues(p.m * p.n, 3);
        std::vector<double> expected(c.size());
        for (int64_t i = 0; i < p.m; ++i) {
          for (int64_t j = 0; j < p.n; ++j) {
            double& sum = expected[i * p.n + j];
            if (accumulate) sum = c[i * p.n + j];
            for (int64_t k = 0; k < p.k; ++k) {
              sum += double{transpose_a ? a[k * p.m + i] : a[i * p.k + k]} *
                     double{transpose_b ? b[j * p.k + k] : b[k * p.n + j]};
            }
          }
        }
        p.a = a.data(), p.b = b.data(), p.c = c.data();
        const absl::Status status = (*products)->Multiply(p);
        ASSERT_TRUE(status.ok()) << status;
        ExpectClose(c, expected, 1e-6);
      }
    }
  }
}

// Operands are parts of larger matrices, whose other elements must not change.
TEST(CublasProducts, MultipliesBfloat16InRowsOfAnyStride) {
  FakeCublas cublas;
  const auto products = CublasProducts::Create(FakeCublas::Functions(), {});
  ASSERT_TRUE(products.ok()) << products.status();
  for (int variant = 0; variant < 16; ++variant) {
    MatrixProduct p;
    p.m = 3, p.n = 5, p.k = 7;
    p.transpose_a = variant % 2 == 1;
    p.transpose_b = variant / 2 % 2 == 1;
    p.accumulate = variant / 4 % 2 == 1;
    p.factors = Storage::kBfloat16;
    p.result = variant / 8 == 1 ? Storage::kBfloat16 : Storage::kFloat;
    p.a_stride = 11, p.b_stride = 12, p.c_stride = 13;
    const auto random = [](int64_t n, uint64_t seed) {
      const std::vector<float> values = RandomValues(n, seed);
      return std::vector<Bfloat16>(values.begin(), values.end());
    };
    const std::vector<Bfloat16> a = random(7 * 11, 1);
    const std::vector<Bfloat16> b = random(7 * 12, 2);
    std::vector<Bfloat16> c = random(3 * 13, 3);
    std::vector<float> wide_c(c.begin(), c.end());
    std::vector<double> expected(c.begin(), c.end());
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        double& sum = expected[i * 13 + j];
        if (!p.accumulate) sum = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          sum += double{p.transpose_a ? a[k * 11 + i] : a[i * 11 + k]} *
                 double{p.transpose_b ? b[j * 12 + k] : b[k * 12 + j]};
        }
      }
    }
    p.a = a.data(), p.b = b.data();
    p.c = wide_c.data();
    if (p.result == Storage::kBfloat16) p.c = c.data();
    const absl::Status status = (*products)->Multiply(p);
    ASSERT_TRUE(status.ok()) << status;
    if (p.result == Storage::kBfloat16) {
      // Sums are below 8 and rounded to 8 bits.
      ExpectClose(std::vector<float>(c.begin(), c.end()), expected, 8.0 / 512);
    } else {
      ExpectClose(wide_c, expected, 1e-6);
    }
  }
}

TEST(CublasProducts, OptionsReachTheLibraryAndTheHandleIsDestroyed) {
  FakeCublas cublas;
  alignas(256) char workspace[16];
  CublasOptions options;
  options.stream = reinterpret_cast<cudaStream_t>(workspace + 1);
  options.workspace = workspace;
  options.workspace_bytes = sizeof(workspace);
  ASSERT_TRUE(CublasProducts::Create(FakeCublas::Functions(), options).ok());
  EXPECT_EQ(cublas.stream, options.stream);
  EXPECT_EQ(cublas.workspace, workspace);
  EXPECT_EQ(cublas.workspace_bytes, sizeof(workspace));
  EXPECT_EQ(cublas.atomics, CUBLAS_ATOMICS_NOT_ALLOWED);
  // With this flag, partial sums are not rounded to the result's type.
  constexpr int kSums = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  EXPECT_EQ(cublas.math, CUBLAS_DEFAULT_MATH | kSums);
  EXPECT_EQ(cublas.num_handles, 0);

  options.deterministic = false;
  options.allow_tf32 = true;
  ASSERT_TRUE(CublasProducts::Create(FakeCublas::Functions(), options).ok());
  EXPECT_EQ(cublas.atomics, CUBLAS_ATOMICS_ALLOWED);
  EXPECT_EQ(cublas.math, CUBLAS_TF32_TENSOR_OP_MATH | kSums);
}

TEST(CublasProducts, ErrorsNameTheCall) {
  FakeCublas cublas;
  cublas.failing = "sgemm";
  cublas.failure = CUBLAS_STATUS_EXECUTION_FAILED;
  const auto products = CublasProducts::Create(FakeCublas::Functions(), {});
  ASSERT_TRUE(products.ok()) << products.status();
  float one = 1;
  MatrixProduct p;
  p.m = p.n = p.k = 1;
  p.a = p.b = &one;
  p.c = &one;
  absl::Status status = (*products)->Multiply(p);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(status.message(), "cublasSgemm")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "EXECUTION_FAILED"))
      << status;

  p.n = int64_t{1} << 31;
  EXPECT_EQ((*products)->Multiply(p).code(),
            absl::StatusCode::kInvalidArgument);

  cublas.failure = CUBLAS_STATUS_ALLOC_FAILED;
  for (const char* const call : {"create", "set_stream", "set_workspace",
                                 "set_math_mode", "set_atomics_mode"}) {
    cublas.failing = call;
    status = CublasProducts::Create(FakeCublas::Functions(), {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << call;
  }
}

// If the library is installed, it has every function; without a device, the
// error says what is missing.
TEST(CublasFunctions, AreFoundWhereTheLibraryIs) {
  const auto cublas = LoadCublas();
  if (!cublas.ok()) {
    EXPECT_EQ(cublas.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(absl::StrContains(cublas.status().message(), "libcublas.so"))
        << cublas.status();
    ASSERT_FALSE(
        absl::StrContains(cublas.status().message(), "has no function"))
        << cublas.status();
    GTEST_SKIP() << "cuBLAS is not installed";
  }
  cublasHandle_t handle = nullptr;
  const cublasStatus_t status = cublas->create(&handle);
  if (status == CUBLAS_STATUS_SUCCESS) {
    EXPECT_EQ(cublas->destroy(handle), CUBLAS_STATUS_SUCCESS);
  } else {
    EXPECT_FALSE(CublasToStatus(status, "cublasCreate").ok());
  }
}

}  // namespace
}  // namespace ps
