#include "tensor/cuda/libraries/cublas_lt_functions.h"

#include "common/status_macros.h"
#include "tensor/cuda/libraries/dynamic_library.h"

// Looks for "libcublasLt.so.13", also where the toolkit's installer puts it.
#define PS_STRING_INNER_(x) #x
#define PS_STRING_(x) PS_STRING_INNER_(x)
#define PS_CUBLAS_LT_FILE_ "libcublasLt.so." PS_STRING_(CUBLAS_VER_MAJOR)

namespace ps {
namespace {

constexpr const char* kNames[] = {PS_CUBLAS_LT_FILE_,
                                  "/usr/local/cuda/lib64/" PS_CUBLAS_LT_FILE_};

}  // namespace

absl::StatusOr<CublasLtFunctions> LoadCublasLt() {
  const absl::StatusOr<DynamicLibrary> opened = DynamicLibrary::Open(kNames);
  if (!opened.ok()) return Annotate(opened.status(), "cuBLASLt");
  const DynamicLibrary& library = *opened;
  CublasLtFunctions f;
  PS_RETURN_IF_ERROR(library.Find("cublasLtCreate", &f.create));
  PS_RETURN_IF_ERROR(library.Find("cublasLtDestroy", &f.destroy));

  PS_RETURN_IF_ERROR(
      library.Find("cublasLtMatmulDescCreate", &f.create_product));
  PS_RETURN_IF_ERROR(
      library.Find("cublasLtMatmulDescDestroy", &f.destroy_product));
  PS_RETURN_IF_ERROR(
      library.Find("cublasLtMatmulDescSetAttribute", &f.set_product));
  PS_RETURN_IF_ERROR(
      library.Find("cublasLtMatrixLayoutCreate", &f.create_layout));
  PS_RETURN_IF_ERROR(
      library.Find("cublasLtMatrixLayoutDestroy", &f.destroy_layout));
  PS_RETURN_IF_ERROR(
      library.Find("cublasLtMatmulPreferenceCreate", &f.create_preference));
  PS_RETURN_IF_ERROR(
      library.Find("cublasLtMatmulPreferenceDestroy", &f.destroy_preference));
  PS_RETURN_IF_ERROR(
      library.Find("cublasLtMatmulPreferenceSetAttribute", &f.set_preference));

  PS_RETURN_IF_ERROR(
      library.Find("cublasLtMatmulAlgoGetHeuristic", &f.heuristics));
  PS_RETURN_IF_ERROR(library.Find("cublasLtMatmul", &f.matmul));
  return f;
}

}  // namespace ps
