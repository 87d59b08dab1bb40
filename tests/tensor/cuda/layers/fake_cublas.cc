#include "tests/tensor/cuda/layers/fake_cublas.h"

#include <cstdint>
#include <utility>

#include "tensor/cuda/layer_device/bfloat16.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace ps {
namespace {

FakeCublas* fake = nullptr;

cublasStatus_t Call(const char* name) {
  return fake->failing == name ? fake->failure : CUBLAS_STATUS_SUCCESS;
}

// One factor, [rows, columns] after its transposition; column-major.
struct Factor {
  const void* data;
  cublasOperation_t operation;
  int64_t lead;

  template <typename Element>
  double At(int64_t row, int64_t column) const {
    const auto* const values = static_cast<const Element*>(data);
    return double{static_cast<float>(operation == CUBLAS_OP_N
                                         ? values[column * lead + row]
                                         : values[row * lead + column])};
  }
};

struct Product {
  int64_t m, n, k;
  Factor a;
  Factor b;
  bool accumulate;
  void* c;
  int64_t ldc;

  template <typename Input, typename Output>
  void Compute() const {
    for (int64_t column = 0; column < n; ++column) {
      for (int64_t row = 0; row < m; ++row) {
        Output& target = static_cast<Output*>(c)[column * ldc + row];
        // As in the standard: c is not read if beta is 0.
        double sum = accumulate ? double{static_cast<float>(target)} : 0;
        for (int64_t i = 0; i < k; ++i) {
          sum += a.At<Input>(row, i) * b.At<Input>(i, column);
        }
        target = static_cast<float>(sum);
      }
    }
  }
};

// Takes the factors that the tree's code uses: 1, and 0 or 1.
cublasStatus_t Run(cublasHandle_t handle, const char* name, const Product& p,
                   float alpha, float beta, std::function<void()> work) {
  if (alpha != 1 || (beta != 0 && beta != 1) ||
      p.a.lead < (p.a.operation == CUBLAS_OP_N ? p.m : p.k) ||
      p.b.lead < (p.b.operation == CUBLAS_OP_N ? p.k : p.n) || p.ldc < p.m) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (fake->queue == nullptr) {
    work();
  } else if (const cublasStatus_t queued =
                 fake->queue(handle->stream, std::move(work));
             queued != CUBLAS_STATUS_SUCCESS) {
    return queued;
  }
  return Call(name);
}

cublasStatus_t Sgemm(cublasHandle_t handle, cublasOperation_t op_a,
                     cublasOperation_t op_b, int m, int n, int k,
                     const float* alpha, const float* a, int lda,
                     const float* b, int ldb, const float* beta, float* c,
                     int ldc) {
  const Product product = {m,          n, k,  {a, op_a, lda}, {b, op_b, ldb},
                           *beta != 0, c, ldc};
  return Run(handle, "sgemm", product, *alpha, *beta,
             [product] { product.Compute<float, float>(); });
}

cublasStatus_t GemmEx(cublasHandle_t handle, cublasOperation_t op_a,
                      cublasOperation_t op_b, int m, int n, int k,
                      const void* alpha, const void* a, cudaDataType a_type,
                      int lda, const void* b, cudaDataType b_type, int ldb,
                      const void* beta, void* c, cudaDataType c_type, int ldc,
                      cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (a_type != CUDA_R_16BF || b_type != CUDA_R_16BF ||
      (c_type != CUDA_R_16BF && c_type != CUDA_R_32F) ||
      compute != CUBLAS_COMPUTE_32F) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const float beta_value = *static_cast<const float*>(beta);
  const Product product = {
      m, n, k, {a, op_a, lda}, {b, op_b, ldb}, beta_value != 0, c, ldc};
  return Run(handle, "gemm_ex", product, *static_cast<const float*>(alpha),
             beta_value, [product, c_type] {
               if (c_type == CUDA_R_32F) {
                 product.Compute<Bfloat16, float>();
               } else {
                 product.Compute<Bfloat16, Bfloat16>();
               }
             });
}

}  // namespace

FakeCublas::FakeCublas() : before_(fake) { fake = this; }

FakeCublas::~FakeCublas() { fake = before_; }

CublasFunctions FakeCublas::Functions() {
  CublasFunctions f;
  f.create = [](cublasHandle_t* handle) {
    const cublasStatus_t status = Call("create");
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    *handle = new cublasContext();
    ++fake->num_handles;
    return status;
  };
  f.destroy = [](cublasHandle_t handle) {
    delete handle;
    --fake->num_handles;
    return CUBLAS_STATUS_SUCCESS;
  };
  f.set_stream = [](cublasHandle_t handle, cudaStream_t stream) {
    fake->stream = handle->stream = stream;
    // As in the documentation of cublasSetStream.
    fake->workspace = nullptr;
    return Call("set_stream");
  };
  f.set_workspace = [](cublasHandle_t, void* workspace, size_t size) {
    fake->workspace = workspace;
    fake->workspace_bytes = size;
    return reinterpret_cast<uintptr_t>(workspace) % 256 == 0
               ? Call("set_workspace")
               : CUBLAS_STATUS_INVALID_VALUE;
  };
  f.set_math_mode = [](cublasHandle_t, cublasMath_t math) {
    fake->math = math;
    return Call("set_math_mode");
  };
  f.set_atomics_mode = [](cublasHandle_t, cublasAtomicsMode_t mode) {
    fake->atomics = mode;
    return Call("set_atomics_mode");
  };
  f.sgemm = Sgemm;
  f.gemm_ex = GemmEx;
  return f;
}

}  // namespace ps
