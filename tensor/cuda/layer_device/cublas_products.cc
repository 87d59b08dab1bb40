#include "tensor/cuda/layer_device/cublas_products.h"

#include <limits>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {

absl::StatusOr<std::unique_ptr<CublasProducts>> CublasProducts::Create(
    const CublasFunctions& cublas, const CublasOptions& options) {
  auto products = absl::WrapUnique(new CublasProducts(cublas));
  PS_RETURN_IF_ERROR(
      CublasToStatus(cublas.create(&products->handle_), "cublasCreate"));
  // Must come before setting the workspace, which setting a stream resets.
  PS_RETURN_IF_ERROR(CublasToStatus(
      cublas.set_stream(products->handle_, options.stream), "cublasSetStream"));
  PS_RETURN_IF_ERROR(CublasToStatus(
      cublas.set_workspace(products->handle_, options.workspace,
                           static_cast<size_t>(options.workspace_bytes)),
      "cublasSetWorkspace"));
  PS_RETURN_IF_ERROR(CublasToStatus(
      cublas.set_atomics_mode(products->handle_,
                              options.deterministic ? CUBLAS_ATOMICS_NOT_ALLOWED
                                                    : CUBLAS_ATOMICS_ALLOWED),
      "cublasSetAtomicsMode"));
  // Keeps the partial sums of a product with a bfloat16 result in floats.
  const int math =
      (options.allow_tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH) |
      CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  PS_RETURN_IF_ERROR(CublasToStatus(
      cublas.set_math_mode(products->handle_, static_cast<cublasMath_t>(math)),
      "cublasSetMathMode"));
  return products;
}

CublasProducts::~CublasProducts() {
  // Nothing useful can be done about an error here.
  if (handle_ != nullptr) cublas_.destroy(handle_);
}

absl::Status CublasProducts::Multiply(const MatrixProduct& p) {
  for (const int64_t extent :
       {p.m, p.n, p.k, p.a_row(), p.b_row(), p.c_row()}) {
    if (extent < 1 || extent > std::numeric_limits<int>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a product of ", p.m, " x ", p.k, " and ", p.k, " x ",
                       p.n, " matrices; extents must be 1 to 2^31 - 1"));
    }
  }
  const int m = static_cast<int>(p.m);
  const int n = static_cast<int>(p.n);
  const int k = static_cast<int>(p.k);
  const int lda = static_cast<int>(p.a_row());
  const int ldb = static_cast<int>(p.b_row());
  const int ldc = static_cast<int>(p.c_row());
  const cublasOperation_t op_a = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_b = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const float one = 1;
  const float beta = p.accumulate ? 1 : 0;
  // cuBLAS's matrices are column-major: it sees each of ours as its transpose.
  // So it computes c' = b' a'.
  if (p.factors == Storage::kFloat) {
    return CublasToStatus(
        cublas_.sgemm(handle_, op_b, op_a, n, m, k, &one,
                      static_cast<const float*>(p.b), ldb,
                      static_cast<const float*>(p.a), lda, &beta,
                      static_cast<float*>(p.c), ldc),
        absl::StrCat("cublasSgemm of ", p.m, " x ", p.n, " x ", p.k));
  }
  return CublasToStatus(
      cublas_.gemm_ex(handle_, op_b, op_a, n, m, k, &one, p.b, CUDA_R_16BF, ldb,
                      p.a, CUDA_R_16BF, lda, &beta, p.c,
                      p.result == Storage::kFloat ? CUDA_R_32F : CUDA_R_16BF,
                      ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      absl::StrCat("cublasGemmEx of ", p.m, " x ", p.n, " x ", p.k));
}

}  // namespace ps
