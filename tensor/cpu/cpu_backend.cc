#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/backend.h"
#include "tensor/cpu/cpu_nn_kernels.h"
#include "tensor/cpu/cpu_sequence_kernels.h"
#include "tensor/cpu/cpu_sparse_kernels.h"

namespace ps {
namespace {

// A cache line, and the alignment that suits the widest vectors best.
constexpr int64_t kAlignmentBytes = 64;
// 4 TiB: more than any machine has, and far from where int64_t would overflow.
constexpr int64_t kMaxElements = int64_t{1} << 40;

// The size of a huge page. From a few of these on, asking for huge pages saves
// a few percent of a pass over the memory.
constexpr int64_t kHugePageBytes = int64_t{2} << 20;

// Returns n floats, or null if there is not enough memory.
float* AllocateZeroed(int64_t n) {
  const int64_t bytes = n * static_cast<int64_t>(sizeof(float));
  const bool huge = bytes >= 2 * kHugePageBytes;
  const int64_t alignment = huge ? kHugePageBytes : kAlignmentBytes;
  // At least one line, so that an empty tensor also has an address.
  const int64_t rounded = (bytes / alignment + 1) * alignment;
  void* const data = std::aligned_alloc(alignment, rounded);
  if (data == nullptr) return nullptr;
  // Only a hint: nothing is lost if it is not granted.
  if (huge) madvise(data, rounded, MADV_HUGEPAGE);
  std::memset(data, 0, bytes);
  return static_cast<float*>(data);
}

// Elements of `shape`, or -1 if there are too many.
int64_t BoundedNumElements(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t extent : shape) {
    if (extent != 0 && n > kMaxElements / extent) return -1;
    n *= extent;
  }
  return n;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(std::unique_ptr<NnKernels> nn,
             std::unique_ptr<SequenceKernels> sequences,
             std::unique_ptr<SparseKernels> sparse)
      : nn_(std::move(nn)),
        sequences_(std::move(sequences)),
        sparse_(std::move(sparse)) {}

  absl::string_view name() const override { return "cpu"; }

  absl::StatusOr<Tensor> Allocate(const Shape& shape) override {
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

  absl::Status CopyFromHost(const float* host, Tensor* tensor) override {
    if (tensor->size() > 0) {
      std::memcpy(tensor->data(), host, tensor->size() * sizeof(float));
    }
    return absl::OkStatus();
  }

  absl::Status CopyToHost(const Tensor& tensor, float* host) override {
    if (tensor.size() > 0) {
      std::memcpy(host, tensor.data(), tensor.size() * sizeof(float));
    }
    return absl::OkStatus();
  }

  NnKernels& nn() override { return *nn_; }
  SequenceKernels& sequences() override { return *sequences_; }
  SparseKernels& sparse() override { return *sparse_; }

 private:
  const std::unique_ptr<NnKernels> nn_;
  const std::unique_ptr<SequenceKernels> sequences_;
  const std::unique_ptr<SparseKernels> sparse_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> NewCpuBackend(
    const CpuBackendOptions& options) {
  if (options.num_threads < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_threads is ", options.num_threads, "; must be at least 1"));
  }
  PS_ASSIGN_OR_RETURN(std::unique_ptr<NnKernels> nn,
                      NewCpuNnKernels(options.num_threads));
  return std::make_unique<CpuBackend>(
      std::move(nn), NewCpuSequenceKernels(options.num_threads),
      NewCpuSparseKernels(options.num_threads));
}

}  // namespace ps
