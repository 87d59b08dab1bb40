// How products are passed to cuBLAS, using a fake one whose functions implement
// the BLAS standard on the host.

#include "tensor/cuda/layer_device/cublas_products.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

// Arguments passed to the fake library; reset by each test.
struct FakeCublas {
  std::vector<std::string> calls;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_ALLOWED;
  cublasMath_t math = CUBLAS_PEDANTIC_MATH;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  cudaStream_t stream = nullptr;
  // The call of this name fails.
  std::string failing;
  cublasStatus_t failure = CUBLAS_STATUS_INTERNAL_ERROR;

  cublasStatus_t Call(const std::string& name) {
    calls.push_back(name);
    return name == failing ? failure : CUBLAS_STATUS_SUCCESS;
  }
};
FakeCublas* fake = nullptr;

// c = alpha op(a) op(b) + beta c; column-major.
cublasStatus_t FakeSgemm(cublasHandle_t, cublasOperation_t transa,
                         cublasOperation_t transb, int m, int n, int k,
                         const float* alpha, const float* a, int lda,
                         const float* b, int ldb, const float* beta, float* c,
                         int ldc) {
  const bool ta = transa == CUBLAS_OP_T, tb = transb == CUBLAS_OP_T;
  if (lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int p = 0; p < k; ++p) {
        sum += double{ta ? a[i * lda + p] : a[p * lda + i]} *
               double{tb ? b[p * ldb + j] : b[j * ldb + p]};
      }
      float* const target = &c[j * ldc + i];
      // As in the standard: c is not read if beta is 0.
      const double before = *beta == 0 ? 0 : *beta * double{*target};
      *target = static_cast<float>(*alpha * sum + before);
    }
  }
  return fake->Call("sgemm");
}

cublasStatus_t FakeGemmEx(cublasHandle_t, cublasOperation_t transa,
                          cublasOperation_t transb, int m, int n, int k,
                          const void* alpha, const void* a, cudaDataType a_type,
                          int lda, const void* b, cudaDataType b_type, int ldb,
                          const void* beta, void* c, cudaDataType c_type,
                          int ldc, cublasComputeType_t compute,
                          cublasGemmAlgo_t) {
  if (a_type != CUDA_R_16BF || b_type != CUDA_R_16BF ||
      (c_type != CUDA_R_16BF && c_type != CUDA_R_32F) ||
      compute != CUBLAS_COMPUTE_32F) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  // Converts to float arrays of the same values, up to the end of the matrices.
  const bool ta = transa == CUBLAS_OP_T, tb = transb == CUBLAS_OP_T;
  const auto floats = [](const void* data, int64_t n) {
    const auto* const values = static_cast<const Bfloat16*>(data);
    return std::vector<float>(values, values + n);
  };
  const std::vector<float> wide_a =
      floats(a, int64_t{lda} * ((ta ? m : k) - 1) + (ta ? k : m));
  const std::vector<float> wide_b =
      floats(b, int64_t{ldb} * ((tb ? k : n) - 1) + (tb ? n : k));
  if (c_type == CUDA_R_32F) {
    return FakeSgemm(nullptr, transa, transb, m, n, k,
                     static_cast<const float*>(alpha), wide_a.data(), lda,
                     wide_b.data(), ldb, static_cast<const float*>(beta),
                     static_cast<float*>(c), ldc);
  }
  const int64_t size = int64_t{ldc} * (n - 1) + m;
  std::vector<float> wide_c = floats(c, size);
  const cublasStatus_t status = FakeSgemm(
      nullptr, transa, transb, m, n, k, static_cast<const float*>(alpha),
      wide_a.data(), lda, wide_b.data(), ldb, static_cast<const float*>(beta),
      wide_c.data(), ldc);
  std::copy(wide_c.begin(), wide_c.end(), static_cast<Bfloat16*>(c));
  return status;
}

CublasFunctions FakeFunctions() {
  CublasFunctions f;
  f.create = [](cublasHandle_t* handle) {
    *handle = reinterpret_cast<cublasHandle_t>(fake);
    return fake->Call("create");
  };
  f.destroy = [](cublasHandle_t handle) {
    EXPECT_EQ(handle, reinterpret_cast<cublasHandle_t>(fake));
    return fake->Call("destroy");
  };
  f.set_stream = [](cublasHandle_t, cudaStream_t stream) {
    fake->stream = stream;
    // As in the documentation of cublasSetStream.
    fake->workspace = nullptr;
    return fake->Call("set_stream");
  };
  f.set_workspace = [](cublasHandle_t, void* workspace, size_t size) {
    fake->workspace = workspace;
    fake->workspace_bytes = size;
    return fake->Call("set_workspace");
  };
  f.set_math_mode = [](cublasHandle_t, cublasMath_t math) {
    fake->math = math;
    return fake->Call("set_math_mode");
  };
  f.set_atomics_mode = [](cublasHandle_t, cublasAtomicsMode_t mode) {
    fake->atomics = mode;
    return fake->Call("set_atomics_mode");
  };
  f.sgemm = FakeSgemm;
  f.gemm_ex = FakeGemmEx;
  return f;
}

class CublasProductsTest : public testing::Test {
 protected:
  CublasProductsTest() { fake = &library_; }
  ~CublasProductsTest() override { fake = nullptr; }

  FakeCublas library_;
};

TEST_F(CublasProductsTest, MultipliesRowMajorMatricesInEveryCombination) {
  const auto products = CublasProducts::Create(FakeFunctions(), {});
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
TEST_F(CublasProductsTest, MultipliesBfloat16InRowsOfAnyStride) {
  const auto products = CublasProducts::Create(FakeFunctions(), {});
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

TEST_F(CublasProductsTest, OptionsReachTheLibraryAndTheHandleIsDestroyed) {
  char workspace[16];
  CublasOptions options;
  options.stream = reinterpret_cast<cudaStream_t>(workspace + 1);
  options.workspace = workspace;
  options.workspace_bytes = sizeof(workspace);
  ASSERT_TRUE(CublasProducts::Create(FakeFunctions(), options).ok());
  EXPECT_EQ(library_.stream, options.stream);
  EXPECT_EQ(library_.workspace, workspace);
  EXPECT_EQ(library_.workspace_bytes, sizeof(workspace));
  EXPECT_EQ(library_.atomics, CUBLAS_ATOMICS_NOT_ALLOWED);
  // With this flag, partial sums are not rounded to the result's type.
  constexpr int kSums = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  EXPECT_EQ(library_.math, CUBLAS_DEFAULT_MATH | kSums);
  EXPECT_EQ(library_.calls.back(), "destroy");

  options.deterministic = false;
  options.allow_tf32 = true;
  ASSERT_TRUE(CublasProducts::Create(FakeFunctions(), options).ok());
  EXPECT_EQ(library_.atomics, CUBLAS_ATOMICS_ALLOWED);
  EXPECT_EQ(library_.math, CUBLAS_TF32_TENSOR_OP_MATH | kSums);
}

TEST_F(CublasProductsTest, ErrorsNameTheCall) {
  library_.failing = "sgemm";
  library_.failure = CUBLAS_STATUS_EXECUTION_FAILED;
  const auto products = CublasProducts::Create(FakeFunctions(), {});
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

  library_.failure = CUBLAS_STATUS_ALLOC_FAILED;
  for (const char* const call : {"create", "set_stream", "set_workspace",
                                 "set_math_mode", "set_atomics_mode"}) {
    library_.failing = call;
    status = CublasProducts::Create(FakeFunctions(), {}).status();
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
