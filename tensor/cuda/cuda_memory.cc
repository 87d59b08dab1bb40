#include "tensor/cuda/cuda_memory.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/cuda_status.h"

namespace ps {
namespace {

absl::StatusOr<void*> NewPinnedMemory(int64_t size_bytes) {
  void* memory = nullptr;
  PS_RETURN_IF_ERROR(Annotate(
      CudaToStatus(cudaHostAlloc(&memory, static_cast<size_t>(size_bytes),
                                 cudaHostAllocPortable),
                   "cudaHostAlloc"),
      absl::StrCat(size_bytes, " bytes of pinned memory")));
  return memory;
}

// An error while freeing is from earlier work, and other calls report it.
void FreePinnedMemory(void* memory) { cudaFreeHost(memory); }

}  // namespace

absl::StatusOr<std::shared_ptr<void>> AllocateDeviceMemory(int64_t size_bytes) {
  void* memory = nullptr;
  PS_RETURN_IF_ERROR(Annotate(
      CudaToStatus(cudaMalloc(&memory, static_cast<size_t>(size_bytes)),
                   "cudaMalloc"),
      absl::StrCat(size_bytes, " bytes of device memory")));
  return std::shared_ptr<void>(memory, [](void* data) { cudaFree(data); });
}

absl::StatusOr<std::shared_ptr<void>> AllocatePinnedMemory(
    int64_t size_bytes, cudaStream_t stream) {
  PS_ASSIGN_OR_RETURN(void* const memory, NewPinnedMemory(size_bytes));
  return std::shared_ptr<void>(memory, [stream](void* data) {
    // After an error there may still be queued copies that nobody has waited
    // for.
    cudaStreamSynchronize(stream);
    FreePinnedMemory(data);
  });
}

absl::StatusOr<std::shared_ptr<uint8_t[]>> AllocatePinnedBytes(
    int64_t size_bytes) {
  PS_ASSIGN_OR_RETURN(void* const memory, NewPinnedMemory(size_bytes));
  return std::shared_ptr<uint8_t[]>(static_cast<uint8_t*>(memory),
                                    FreePinnedMemory);
}

absl::StatusOr<int64_t> ShareOfDeviceMemory(int num_sharers) {
  size_t free = 0;
  size_t total = 0;
  PS_RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&free, &total));
  const double share = 0.9 * static_cast<double>(total) / num_sharers;
  return static_cast<int64_t>(
      std::min(share, 0.95 * static_cast<double>(free)));
}

}  // namespace ps
