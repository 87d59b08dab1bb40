#ifdef PS_HAVE_CUDA

#include "tests/tensor/cuda/emulated_cudnn.h"

#include <functional>
#include <utility>

#include "tests/ptx/device.h"
#include "tests/tensor/cuda/emulated_libraries.h"
#ifdef PS_HAVE_CUDNN
#include "tests/tensor/cuda/layers/fake_cudnn.h"
#endif

namespace ps {

#ifndef PS_HAVE_CUDNN

bool InstallEmulatedCudnn(bool) { return false; }

void FailEmulatedCudnn(const std::string&) {}

int64_t NumEmulatedConvolutions() { return 0; }

std::map<std::string, void*>* EmulatedCudnn() { return nullptr; }

#else

namespace {

bool is_installed = false;

template <typename Function>
void* Erased(Function* function) {
  return reinterpret_cast<void*>(function);
}

FakeCudnn* NewLibrary() {
  auto* const library = new FakeCudnn();
  library->queue = [](cudaStream_t stream, std::function<void()> work) {
    return ptx::QueueOnStream(stream, std::move(work)) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
  };
  return library;
}

FakeCudnn& Library() {
  static FakeCudnn* const library = NewLibrary();
  return *library;
}

std::map<std::string, void*>* NewFunctions() {
  Library();
  const CudnnFunctions f = FakeCudnn::Functions();
#define PS_ENTRY(member, function) {#function, Erased(f.member)},
  return new std::map<std::string, void*>{PS_CUDNN_FUNCTIONS(PS_ENTRY)};
#undef PS_ENTRY
}

}  // namespace

bool InstallEmulatedCudnn(bool installed) {
  is_installed = installed;
  return true;
}

void FailEmulatedCudnn(const std::string& call) {
  Library().failing = call;
  Library().failure = CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED;
}

int64_t NumEmulatedConvolutions() { return Library().num_calls; }

std::map<std::string, void*>* EmulatedCudnn() {
  static auto* const functions = NewFunctions();
  return is_installed ? functions : nullptr;
}

#endif  // PS_HAVE_CUDNN

}  // namespace ps

#endif  // PS_HAVE_CUDA
