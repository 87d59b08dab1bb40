#include "tests/tensor/cuda/emulated_libraries.h"

#include <dlfcn.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensor/cuda/libraries/dynamic_library.h"
#include "tests/ptx/device.h"
#include "tests/tensor/cuda/layers/fake_cublas.h"
#include "tests/tensor/cuda/layers/fake_cudnn.h"

namespace ps {
namespace {

template <typename Function>
void* Erased(Function* function) {
  return reinterpret_cast<void*>(function);
}

using Functions = std::map<std::string, void*>;

#define PS_ENTRY(member, function) {#function, Erased(f.member)},

Functions* Cublas() {
  const CublasFunctions f = FakeCublas::Functions();
  static auto* const functions = new Functions{
      PS_CUBLAS_FUNCTIONS(PS_ENTRY){"cublasGemmEx", Erased(f.gemm_ex)}};
  return functions;
}

Functions* Cudnn() {
  const CudnnFunctions f = FakeCudnn::Functions();
  static auto* const functions = new Functions{PS_CUDNN_FUNCTIONS(PS_ENTRY)};
  return functions;
}

#undef PS_ENTRY

// Whose functions are called while no test has others.
FakeCublas* NewCublas() {
  FakeCublas::default_queue = [](cudaStream_t stream,
                                 std::function<void()> work) {
    return ptx::QueueOnStream(stream, std::move(work)) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
  };
  return new FakeCublas();
}

FakeCudnn* NewCudnn() {
  FakeCudnn::default_queue = [](cudaStream_t stream,
                                std::function<void()> work) {
    return ptx::QueueOnStream(stream, std::move(work)) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
  };
  return new FakeCudnn();
}

[[maybe_unused]] FakeCublas* const cublas = NewCublas();
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
