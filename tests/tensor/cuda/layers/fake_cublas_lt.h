// A cuBLASLt that is not there: functions that do, on the host, what its
// documentation says of products and their epilogues.
#ifndef TESTS_TENSOR_CUDA_LAYERS_FAKE_CUBLAS_LT_H_
#define TESTS_TENSOR_CUDA_LAYERS_FAKE_CUBLAS_LT_H_

#include <atomic>
#include <functional>
#include <string>

#include "tensor/cuda/libraries/cublas_lt_functions.h"

namespace ps {

// One at a time may exist; its functions are for as long as it does.
class FakeCublasLt {
 public:
  // In the order in which the heuristics name those that fit the preference.
  enum Algorithm {
    kBroken = 1,      // Has a state that is not success.
    kHuge = 2,        // Needs 2^40 bytes, whatever the preference says.
    kOutputType = 3,  // Rounds parts of sums.
    kInPlace = 4,     // Adds parts of sums in the order they are done.
    kAligned = 5,     // Needs operands and vectors aligned to 16 bytes.
    kAny = 6,
  };

  FakeCublasLt();
  ~FakeCublasLt();
  FakeCublasLt(const FakeCublasLt&) = delete;
  FakeCublasLt& operator=(const FakeCublasLt&) = delete;

  // A product is worked out from descriptors, layouts and leading dimensions
  // alone. It overwrites its workspace.
  static CublasLtFunctions Functions();

  // The call of this name ("matmul") returns this.
  std::string failing;
  cublasStatus_t failure = CUBLAS_STATUS_EXECUTION_FAILED;
  // Does a product's work in the order of its stream; null: at once.
  std::function<cublasStatus_t(cudaStream_t stream, std::function<void()> work)>
      queue;
  // What there is of algorithms that are right and deterministic.
  bool has_aligned = true;
  bool has_any = true;

  // What the latest product ran with.
  std::atomic<int> algorithm = 0;
  std::atomic<cublasComputeType_t> compute = CUBLAS_COMPUTE_64F;
  std::atomic<cudaStream_t> stream = nullptr;
  std::atomic<int> num_products = 0;
  std::atomic<int> num_heuristics = 0;
  std::atomic<int> num_descriptors = 0;  // That are not destroyed, and handles.
};

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_FAKE_CUBLAS_LT_H_
