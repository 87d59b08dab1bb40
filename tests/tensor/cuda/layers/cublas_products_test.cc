// How products reach cuBLAS, with a cuBLAS that is not there: its functions do
// what the BLAS standard says, on the host.

#include "tensor/cuda/libraries/cublas_products.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

// What the fake library was told; reset by each test.
struct FakeCublas {
  std::vector<std::string> calls;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_ALLOWED;
  cublasMath_t math = CUBLAS_PEDANTIC_MATH;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  cudaStream_t stream = nullptr;
  // Returned by the call of this name.
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
      // As the standard says: with beta = 0 it is not read.
      const double before = *beta == 0 ? 0 : *beta * double{*target};
      *target = static_cast<float>(*alpha * sum + before);
    }
  }
  return fake->Call("sgemm");
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
    // As the documentation says of cublasSetStream.
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
  EXPECT_EQ(library_.math, CUBLAS_DEFAULT_MATH);
  EXPECT_EQ(library_.calls.back(), "destroy");

  options.deterministic = false;
  options.allow_tf32 = true;
  ASSERT_TRUE(CublasProducts::Create(FakeFunctions(), options).ok());
  EXPECT_EQ(library_.atomics, CUBLAS_ATOMICS_ALLOWED);
  EXPECT_EQ(library_.math, CUBLAS_TF32_TENSOR_OP_MATH);
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

// Where the library is installed it has every function, and says what is
// missing where there is no device.
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
