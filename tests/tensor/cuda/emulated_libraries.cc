#include "tests/tensor/cuda/emulated_libraries.h"

#include <cublas_v2.h>
#include <dlfcn.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/libraries/dynamic_library.h"
#include "tests/ptx/device.h"
#include "tests/tensor/cuda/layers/fake_cudnn.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace ps {
namespace {

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
        double sum = accumulate ? double{static_cast<float>(target)} : 0;
        for (int64_t i = 0; i < k; ++i) {
          sum += a.At<Input>(row, i) * b.At<Input>(i, column);
        }
        target = static_cast<float>(sum);
      }
    }
  }
};

cublasStatus_t StatusOf(cudaError_t error) {
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                              : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t Queue(cublasHandle_t handle, std::function<void()> work) {
  return StatusOf(ptx::QueueOnStream(handle->stream, std::move(work)));
}

bool LeadsAreLongEnough(const Product& p) {
  return p.a.lead >= (p.a.operation == CUBLAS_OP_N ? p.m : p.k) &&
         p.b.lead >= (p.b.operation == CUBLAS_OP_N ? p.k : p.n) && p.ldc >= p.m;
}

// The values that the tree's code uses: factors of 1 and of 0 or 1.
bool IsKnown(float alpha, float beta) {
  return alpha == 1 && (beta == 0 || beta == 1);
}

cublasStatus_t Create(cublasHandle_t* handle) {
  *handle = new cublasContext();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Destroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t SetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t SetWorkspace(cublasHandle_t, void* workspace, size_t) {
  return reinterpret_cast<uintptr_t>(workspace) % 256 == 0
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t SetMathMode(cublasHandle_t, cublasMath_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t SetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Sgemm(cublasHandle_t handle, cublasOperation_t op_a,
                     cublasOperation_t op_b, int m, int n, int k,
                     const float* alpha, const float* a, int lda,
                     const float* b, int ldb, const float* beta, float* c,
                     int ldc) {
  const Product product = {m,          n, k,  {a, op_a, lda}, {b, op_b, ldb},
                           *beta != 0, c, ldc};
  if (!IsKnown(*alpha, *beta) || !LeadsAreLongEnough(product)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return Queue(handle, [product] { product.Compute<float, float>(); });
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
  if (!IsKnown(*static_cast<const float*>(alpha), beta_value) ||
      !LeadsAreLongEnough(product)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return Queue(handle, [product, c_type] {
    if (c_type == CUDA_R_32F) {
      product.Compute<Bfloat16, float>();
    } else {
      product.Compute<Bfloat16, Bfloat16>();
    }
  });
}

template <typename Function>
void* Erased(Function* function) {
  return reinterpret_cast<void*>(function);
}

using Functions = std::map<std::string, void*>;

Functions* Cublas() {
  static auto* const functions = new Functions{
      {"cublasCreate_v2", Erased(Create)},
      {"cublasDestroy_v2", Erased(Destroy)},
      {"cublasSetStream_v2", Erased(SetStream)},
      {"cublasSetWorkspace_v2", Erased(SetWorkspace)},
      {"cublasSetMathMode", Erased(SetMathMode)},
      {"cublasSetAtomicsMode", Erased(SetAtomicsMode)},
      {"cublasSgemm_v2", Erased(Sgemm)},
      {"cublasGemmEx", Erased(GemmEx)},
  };
  return functions;
}

Functions* Cudnn() {
  const CudnnFunctions f = FakeCudnn::Functions();
#define PS_ENTRY(member, function) {#function, Erased(f.member)},
  static auto* const functions = new Functions{PS_CUDNN_FUNCTIONS(PS_ENTRY)};
#undef PS_ENTRY
  return functions;
}

// Whose functions are called while no test has others.
FakeCudnn* NewCudnn() {
  FakeCudnn::default_queue = [](cudaStream_t stream,
                                std::function<void()> work) {
    return ptx::QueueOnStream(stream, std::move(work)) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
  };
  return new FakeCudnn();
}

FakeCudnn* const cudnn = NewCudnn();
bool has_cudnn = true;
bool uses_installed = false;
std::set<void*>& Installed() {
  static auto* const handles = new std::set<void*>();
  return *handles;
}

}  // namespace

void InstallEmulatedCudnn(bool installed) { has_cudnn = installed; }

void FailEmulatedCudnn(const std::string& call) {
  cudnn->failing = call;
  cudnn->failure = CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED;
}

int64_t NumEmulatedConvolutions() { return cudnn->num_calls; }

void UseInstalledLibraries(bool use) { uses_installed = use; }

absl::StatusOr<DynamicLibrary> DynamicLibrary::Open(
    absl::Span<const char* const> names) {
  for (const char* const name : names) {
    if (uses_installed) {
      void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle == nullptr) continue;
      Installed().insert(handle);
      return DynamicLibrary(handle, name);
    }
    if (absl::StrContains(name, "libcublas.so")) {
      return DynamicLibrary(Cublas(), name);
    }
    if (absl::StrContains(name, "libcudnn") && has_cudnn) {
      return DynamicLibrary(Cudnn(), name);
    }
  }
  return absl::UnavailableError(
      absl::StrCat("an emulated device has no ", names.front()));
}

absl::Status DynamicLibrary::LoadBeside(const std::string& name) const {
  return Open({name.c_str()}).status();
}

absl::StatusOr<void*> DynamicLibrary::Address(const char* name) const {
  void* address = nullptr;
  if (Installed().count(handle_) > 0) {
    address = dlsym(handle_, name);
  } else {
    const auto& functions = *static_cast<const Functions*>(handle_);
    const auto found = functions.find(name);
    if (found != functions.end()) address = found->second;
  }
  if (address == nullptr) {
    return absl::UnavailableError(
        absl::StrCat(path_, " has no function ", name));
  }
  return address;
}

}  // namespace ps
