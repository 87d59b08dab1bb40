// A fake cuDNN: host functions that implement what its documentation says about
// convolutions and recurrent layers.
#ifndef TESTS_TENSOR_CUDA_LAYERS_FAKE_CUDNN_H_
#define TESTS_TENSOR_CUDA_LAYERS_FAKE_CUDNN_H_

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "tensor/cuda/libraries/cudnn_functions.h"

namespace ps {

// The functions are those of the latest that exists.
class FakeCudnn {
 public:
  FakeCudnn();
  ~FakeCudnn();
  FakeCudnn(const FakeCudnn&) = delete;
  FakeCudnn& operator=(const FakeCudnn&) = delete;

  // Checks that pointers are aligned to 16 bytes, as cuDNN's kernels require,
  // and overwrites the workspace. The heuristics return an algorithm that is
  // not deterministic, one that needs 2^40 bytes, and one that fits, in this
  // order.
  static CudnnFunctions Functions();

  // The return value of the call with this name ("forward").
  std::string failing;
  cudnnStatus_t failure = CUDNN_STATUS_EXECUTION_FAILED;
  // Runs a layer's work in the order of its stream; null: immediately.
  using Queue = cudnnStatus_t (*)(cudaStream_t stream,
                                  std::function<void()> work);
  Queue queue = default_queue;
  inline static Queue default_queue = nullptr;
  // Algorithms of convolutions that the heuristics propose, and that fail.
  std::set<int> broken;
  // The passes ("backward_data") that have no deterministic algorithm.
  std::set<std::string> only_atomics;
  // How long each algorithm takes; by default nothing.
  std::map<int, float> milliseconds;

  // Whether recurrent weights lie in the order of PyTorch's arrays; else with
  // the gates in reverse, and gaps.
  bool weights_in_order = false;

  // Arguments of the latest call.
  std::atomic<int> algorithm = -1;
  std::atomic<cudnnMathType_t> math = CUDNN_DEFAULT_MATH;
  std::atomic<int> num_calls = 0;        // Calls of convolutions.
  std::atomic<int> num_timings = 0;      // Searches for the fastest algorithm.
  std::atomic<int> num_descriptors = 0;  // Live descriptors and handles.

 private:
  FakeCudnn* const before_;
};

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_FAKE_CUDNN_H_
