#include "tensor/cuda/libraries/cublas_products.h"

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
  // Before the workspace, which a new stream resets.
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
  PS_RETURN_IF_ERROR(CublasToStatus(
      cublas.set_math_mode(products->handle_, options.allow_tf32
                                                  ? CUBLAS_TF32_TENSOR_OP_MATH
                                                  : CUBLAS_DEFAULT_MATH),
      "cublasSetMathMode"));
  return products;
}

CublasProducts::~CublasProducts() {
  // Nothing useful can be done about an error here.
  if (handle_ != nullptr) cublas_.destroy(handle_);
}

absl::Status CublasProducts::Multiply(const MatrixProduct& p) {
  for (const int64_t extent : {p.m, p.n, p.k}) {
    if (extent < 1 || extent > std::numeric_limits<int>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a product of ", p.m, " x ", p.k, " and ", p.k, " x ",
                       p.n, " matrices; extents must be 1 to 2^31 - 1"));
    }
  }
  const int m = static_cast<int>(p.m);
  const int n = static_cast<int>(p.n);
  const int k = static_cast<int>(p.k);
  const float one = 1;
  const float beta = p.accumulate ? 1 : 0;
  // cuBLAS's matrices are column-major: to it, each of ours is its transpose.
  // So it computes c' = b' a'.
  return CublasToStatus(
      cublas_.sgemm(handle_, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                    p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one,
                    p.b, p.transpose_b ? k : n, p.a, p.transpose_a ? m : k,
                    &beta, p.c, n),
      absl::StrCat("cublasSgemm of ", p.m, " x ", p.n, " x ", p.k));
}

}  // namespace ps
