#include "tensor/cpu/cpu_compressor_backend.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tensor/cpu/cpu_sparse_kernels.h"

namespace ps {
namespace {

// The alignment is a cache line, which suits the widest vectors best.
constexpr int64_t kAlignmentBytes = 64;
// 4 TiB: more than any machine has, and far from overflowing int64_t.
constexpr int64_t kMaxElements = int64_t{1} << 40;

// The size of a huge page. From a few of these on, asking for huge pages saves
// a few percent of a pass over the memory.
constexpr int64_t kHugePageBytes = int64_t{2} << 20;

// Returns n floats, or null if there is not enough memory.
float* AllocateZeroed(int64_t n) {
  const int64_t bytes = n * static_cast<int64_t>(sizeof(float));
  const bool huge = bytes >= 2 * kHugePageBytes;
  const int64_t alignment = huge ? kHugePageBytes : kAlignmentBytes;
  // The size is at least one line, so that an empty tensor also has an address.
  const int64_t rounded = (bytes / alignment + 1) * alignment;
  void* const data = std::aligned_alloc(alignment, rounded);
  if (data == nullptr) return nullptr;
  // This is only a hint, and may be refused.
  if (huge) madvise(data, rounded, MADV_HUGEPAGE);
  std::memset(data, 0, bytes);
  return static_cast<float*>(data);
}

// Returns the number of elements of `shape`, or -1 if there are too many.
int64_t BoundedNumElements(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t extent : shape) {
    if (extent != 0 && n > kMaxElements / extent) return -1;
    n *= extent;
  }
  return n;
}

}  // namespace

CpuCompressorBackend::CpuCompressorBackend(int num_threads)
    : sparse_(NewCpuSparseKernels(num_threads)) {}

absl::StatusOr<Tensor> CpuCompressorBackend::Allocate(const Shape& shape) {
  for (const int64_t extent : shape) {
    if (extent < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cannot allocate a tensor of shape ", ShapeString(shape)));
    }
  }
  const int64_t n = BoundedNumElements(shape);
  float* const data = n < 0 ? nullptr : AllocateZeroed(n);
  if (data == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a tensor of shape ", ShapeString(shape)));
  }
  return Tensor(std::shared_ptr<float>(data, std::free), shape);
}

absl::Status CpuCompressorBackend::CopyFromHost(const float* host,
                                                Tensor* tensor) {
  if (tensor->size() > 0) {
    std::memcpy(tensor->data(), host, tensor->size() * sizeof(float));
  }
  return absl::OkStatus();
}

absl::Status CpuCompressorBackend::CopyToHost(const Tensor& tensor,
                                              float* host) {
  if (tensor.size() > 0) {
    std::memcpy(host, tensor.data(), tensor.size() * sizeof(float));
  }
  return absl::OkStatus();
}

NnKernels& CpuCompressorBackend::nn() {
  LOG(FATAL) << "this backend is only for compressors";
}

SequenceKernels& CpuCompressorBackend::sequences() {
  LOG(FATAL) << "this backend is only for compressors";
}

absl::Status CheckCpuBackendOptions(const CpuBackendOptions& options) {
  if (options.num_threads >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "num_threads is ", options.num_threads, "; must be at least 1"));
}

absl::StatusOr<std::unique_ptr<Backend>> NewCpuCompressorBackend(
    const CpuBackendOptions& options) {
  PS_RETURN_IF_ERROR(CheckCpuBackendOptions(options));
  return std::make_unique<CpuCompressorBackend>(options.num_threads);
}

}  // namespace ps
