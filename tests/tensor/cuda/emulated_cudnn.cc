#ifdef PS_HAVE_CUDA

#include "tests/tensor/cuda/emulated_cudnn.h"

#include <functional>
#include <utility>

#include "tests/tensor/cuda/emulated_device.h"
#ifdef PS_HAVE_CUDNN
#include "tests/tensor/cuda/layers/fake_cudnn.h"
#endif

namespace ps {

#ifndef PS_HAVE_CUDNN

bool InstallEmulatedCudnn(bool) { return false; }

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
    return QueueOnEmulatedStream(stream, std::move(work)) == cudaSuccess
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
  return new std::map<std::string, void*>{
      {"cudnnCreate", Erased(f.create)},
      {"cudnnDestroy", Erased(f.destroy)},
      {"cudnnSetStream", Erased(f.set_stream)},
      {"cudnnGetErrorString", Erased(f.get_error_string)},
      {"cudnnCreateTensorDescriptor", Erased(f.create_tensor)},
      {"cudnnDestroyTensorDescriptor", Erased(f.destroy_tensor)},
      {"cudnnSetTensor4dDescriptor", Erased(f.set_tensor)},
      {"cudnnCreateFilterDescriptor", Erased(f.create_filter)},
      {"cudnnDestroyFilterDescriptor", Erased(f.destroy_filter)},
      {"cudnnSetFilter4dDescriptor", Erased(f.set_filter)},
      {"cudnnCreateConvolutionDescriptor", Erased(f.create_convolution)},
      {"cudnnDestroyConvolutionDescriptor", Erased(f.destroy_convolution)},
      {"cudnnSetConvolution2dDescriptor", Erased(f.set_convolution)},
      {"cudnnSetConvolutionMathType", Erased(f.set_math_type)},
      {"cudnnSetConvolutionGroupCount", Erased(f.set_group_count)},
      {"cudnnGetConvolutionForwardAlgorithm_v7", Erased(f.forward_algorithms)},
      {"cudnnGetConvolutionBackwardDataAlgorithm_v7",
       Erased(f.backward_data_algorithms)},
      {"cudnnGetConvolutionBackwardFilterAlgorithm_v7",
       Erased(f.backward_filter_algorithms)},
      {"cudnnGetConvolutionForwardWorkspaceSize", Erased(f.forward_workspace)},
      {"cudnnGetConvolutionBackwardDataWorkspaceSize",
       Erased(f.backward_data_workspace)},
      {"cudnnGetConvolutionBackwardFilterWorkspaceSize",
       Erased(f.backward_filter_workspace)},
      {"cudnnConvolutionForward", Erased(f.forward)},
      {"cudnnConvolutionBackwardData", Erased(f.backward_data)},
      {"cudnnConvolutionBackwardFilter", Erased(f.backward_filter)},
  };
}

}  // namespace

bool InstallEmulatedCudnn(bool installed) {
  is_installed = installed;
  return true;
}

int64_t NumEmulatedConvolutions() { return Library().num_calls; }

std::map<std::string, void*>* EmulatedCudnn() {
  static auto* const functions = NewFunctions();
  return is_installed ? functions : nullptr;
}

#endif  // PS_HAVE_CUDNN

}  // namespace ps

#endif  // PS_HAVE_CUDA
