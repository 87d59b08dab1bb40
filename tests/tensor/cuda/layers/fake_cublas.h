// A fake cuBLAS, whose functions implement the BLAS standard on the host.
#ifndef TESTS_TENSOR_CUDA_LAYERS_FAKE_CUBLAS_H_
#define TESTS_TENSOR_CUDA_LAYERS_FAKE_CUBLAS_H_

#include <atomic>
#include <functional>
#include <string>

#include "tensor/cuda/libraries/cublas_functions.h"

namespace ps {

// The functions are those of the latest that exists.
class FakeCublas {
 public:
  FakeCublas();
  ~FakeCublas();
  FakeCublas(const FakeCublas&) = delete;
  FakeCublas& operator=(const FakeCublas&) = delete;

  static CublasFunctions Functions();

  // The return value of the call with this name ("sgemm").
  std::string failing;
  cublasStatus_t failure = CUBLAS_STATUS_INTERNAL_ERROR;
  // Runs a product in the order of its stream; null: immediately.
  using Queue = cublasStatus_t (*)(cudaStream_t stream,
                                   std::function<void()> work);
  Queue queue = default_queue;
  inline static Queue default_queue = nullptr;

  // Arguments of the latest calls.
  std::atomic<cudaStream_t> stream = nullptr;
  std::atomic<void*> workspace = nullptr;
  std::atomic<size_t> workspace_bytes = 0;
  std::atomic<cublasAtomicsMode_t> atomics = CUBLAS_ATOMICS_ALLOWED;
  std::atomic<cublasMath_t> math = CUBLAS_PEDANTIC_MATH;
  std::atomic<int> num_handles = 0;  // That live.

 private:
  FakeCublas* const before_;
};

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_FAKE_CUBLAS_H_
