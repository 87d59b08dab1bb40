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
#define PS_FIND(member, function) \
  PS_RETURN_IF_ERROR(library.Find(#function, &f.member));
  PS_CUBLAS_LT_FUNCTIONS(PS_FIND)
#undef PS_FIND
  return f;
}

}  // namespace ps
