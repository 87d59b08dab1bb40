// How tests use a CUDA device.
#ifndef TESTS_TENSOR_CUDA_OPTIONS_FOR_TEST_H_
#define TESTS_TENSOR_CUDA_OPTIONS_FOR_TEST_H_

#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "tensor/cuda/cuda_backend.h"

namespace ps {

// Little memory, so that several test programs can share a device, but enough
// for the largest workspace of a convolution (512 MiB). With
// GRADSIEVE_CUDA_SEPARATE_ALLOCATIONS=1 in the environment every tensor is an
// allocation of its own, for compute-sanitizer.
inline CudaBackendOptions CudaOptionsForTest() {
  CudaBackendOptions options;
  options.memory_bytes = int64_t{1} << 30;
  const char* const separate =
      std::getenv("GRADSIEVE_CUDA_SEPARATE_ALLOCATIONS");
  options.separate_allocations =
      separate != nullptr && absl::string_view(separate) == "1";
  return options;
}

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_OPTIONS_FOR_TEST_H_
