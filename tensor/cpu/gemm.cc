#include "tensor/cpu/gemm.h"

#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.h"
#include "tensor/cpu/dnnl_step.h"

namespace ps {

absl::Status Gemm(int num_threads, const GemmShape& shape, const float* a,
                  const float* b, float* c) {
  const OmpThreads threads(num_threads);
  const dnnl_status_t status = dnnl_sgemm(
      shape.transpose_a ? 'T' : 'N', shape.transpose_b ? 'T' : 'N', shape.m,
      shape.n, shape.k, /*alpha=*/1, a, shape.transpose_a ? shape.m : shape.k,
      b, shape.transpose_b ? shape.k : shape.n, shape.accumulate ? 1 : 0, c,
      shape.n);
  if (status == dnnl_success) return absl::OkStatus();
  return DnnlStatus(status, absl::StrCat("product ", shape.m, " x ", shape.n,
                                         " x ", shape.k));
}

}  // namespace ps
