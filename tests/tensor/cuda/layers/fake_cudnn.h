// A cuDNN that is not there: functions that do, on the host, what its
// documentation says of convolutions.
#ifndef TESTS_TENSOR_CUDA_LAYERS_FAKE_CUDNN_H_
#define TESTS_TENSOR_CUDA_LAYERS_FAKE_CUDNN_H_

#include <atomic>
#include <functional>
#include <string>

#include "tensor/cuda/libraries/cudnn_functions.h"

namespace ps {

// One at a time may exist; its functions are for as long as it does.
class FakeCudnn {
 public:
  FakeCudnn();
  ~FakeCudnn();
  FakeCudnn(const FakeCudnn&) = delete;
  FakeCudnn& operator=(const FakeCudnn&) = delete;

  // Checks that pointers are aligned to 16 bytes, as cuDNN's kernels need, and
  // overwrites the workspace. The heuristics name an algorithm that is not
  // deterministic, one that needs 2^40 bytes, and one that fits, in this order.
  static CudnnFunctions Functions();

  // The call of this name ("forward") returns this.
  std::string failing;
  cudnnStatus_t failure = CUDNN_STATUS_EXECUTION_FAILED;
  // Does a convolution's work in the order of its stream; null: at once.
  std::function<cudnnStatus_t(cudaStream_t stream, std::function<void()> work)>
      queue;
  // No deterministic algorithm.
  bool only_atomics = false;

  // What the latest convolution ran with.
  std::atomic<int> algorithm = -1;
  std::atomic<cudnnMathType_t> math = CUDNN_DEFAULT_MATH;
  std::atomic<int> num_calls = 0;        // Of convolutions.
  std::atomic<int> num_descriptors = 0;  // That are not destroyed, and handles.
};

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_FAKE_CUDNN_H_
