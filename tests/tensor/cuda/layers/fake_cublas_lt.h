// A fake cuBLASLt: host functions that implement what its documentation says
// about products and their epilogues.
#ifndef TESTS_TENSOR_CUDA_LAYERS_FAKE_CUBLAS_LT_H_
#define TESTS_TENSOR_CUDA_LAYERS_FAKE_CUBLAS_LT_H_

#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "tensor/cuda/libraries/cublas_functions.h"

namespace ps {

// The functions are those of the latest that exists.
class FakeCublasLt {
 public:
  // The order in which the heuristics return the algorithms that fit the
  // preference.
  enum Algorithm {
    kBroken = 1,      // Reports a state other than success.
    kHuge = 2,        // Needs 2^40 bytes, whatever the preference says.
    kOutputType = 3,  // Rounds parts of sums.
    kInPlace = 4,     // Adds parts of sums in the order they finish.
    kAligned = 5,     // Needs operands and vectors aligned to 16 bytes.
    kAny = 6,
  };

  FakeCublasLt();
  ~FakeCublasLt();
  FakeCublasLt(const FakeCublasLt&) = delete;
  FakeCublasLt& operator=(const FakeCublasLt&) = delete;

  // The product is computed from descriptors, layouts and leading dimensions
  // alone. It overwrites its workspace.
  static CublasLtFunctions Functions();

  // The return value of the call with this name ("matmul").
  std::string failing;
  cublasStatus_t failure = CUBLAS_STATUS_EXECUTION_FAILED;
  // Runs a product's work in the order of its stream; null: immediately.
  using Queue = cublasStatus_t (*)(cudaStream_t stream,
                                   std::function<void()> work);
  Queue queue = default_queue;
  inline static Queue default_queue = nullptr;
  // Which of the correct and deterministic algorithms exist.
  bool has_aligned = true;
  bool has_any = true;

  // How long each algorithm takes, and the time that all have taken.
  std::map<int, double> milliseconds;
  double elapsed_milliseconds = 0;

  // Arguments of the latest product.
  std::atomic<int> algorithm = 0;
  std::atomic<cublasComputeType_t> compute = CUBLAS_COMPUTE_64F;
  std::atomic<cudaStream_t> stream = nullptr;
  std::atomic<int> num_products = 0;
  std::atomic<int> num_heuristics = 0;
  std::atomic<int> num_descriptors = 0;  // Live descriptors and handles.

 private:
  FakeCublasLt* const before_;
};

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_FAKE_CUBLAS_LT_H_
