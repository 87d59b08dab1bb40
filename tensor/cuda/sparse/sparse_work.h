// What device code of compressors shares: the compression stream, scratch for
// kernels that pass over a vector (passes.h), and memory that grows on demand.
//
// Includes CUDA's headers, so only for libraries that are built only with the
// toolkit.
#ifndef TENSOR_CUDA_SPARSE_SPARSE_WORK_H_
#define TENSOR_CUDA_SPARSE_SPARSE_WORK_H_

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host_device.h"
#include "common/status_macros.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/cuda_streams.h"
#include "tensor/cuda/memory_region.h"
#include "tensor/device_selection.h"
#include "tensor/moments.h"

namespace ps {

// Elements that a warp takes at a time, and of them those that are listed at
// most.
constexpr int64_t kSegment = 8192;
constexpr uint32_t kListCapacity = kSegment / 8;
PS_HOST_DEVICE inline int64_t NumSegments(int64_t n) {
  return (n + kSegment - 1) / kSegment;
}
// Vectors have fewer than 2^32 elements.
constexpr int64_t kMaxSegments = (int64_t{1} << 32) / kSegment;

// The threads of a pass's blocks. The blocks on a multiprocessor leave three
// quarters of its threads to the backward pass, which runs beside them, and
// have 64 KB of loads under way.
constexpr int kWarp = 32;
constexpr int kPassThreads = 256;
constexpr int kPassWarps = kPassThreads / kWarp;
constexpr int kPassBlocksEach = 2;
constexpr int kMaxPassBlocks = 1024;
constexpr int kHistogramBins = 4096;

// Two counts in one number, so that they are added together: of elements above
// a threshold, and of those equal to it.
constexpr int kAboveShift = 32;

// What a pass over a vector finds.
struct PassTotals {
  double sum = 0;
  double sum_squares = 0;
  double sum_logs = 0;
  uint64_t counts = 0;
  int64_t num_nonzero = 0;
  int64_t num_non_finite = 0;
  uint32_t max_bits = 0;  // The largest magnitude.
  // The smallest non-zero magnitude, less one: 0 becomes the largest number.
  uint32_t min_bits_less_one = 0xffffffff;

  PS_HOST_DEVICE int64_t count() const {
    return static_cast<int64_t>(counts >> kAboveShift);
  }
};

struct AddTotals {
  PS_HOST_DEVICE PassTotals operator()(const PassTotals& a,
                                       const PassTotals& b) const {
    PassTotals sum;
    sum.sum = a.sum + b.sum;
    sum.sum_squares = a.sum_squares + b.sum_squares;
    sum.sum_logs = a.sum_logs + b.sum_logs;
    sum.counts = a.counts + b.counts;
    sum.num_nonzero = a.num_nonzero + b.num_nonzero;
    sum.num_non_finite = a.num_non_finite + b.num_non_finite;
    sum.max_bits = a.max_bits > b.max_bits ? a.max_bits : b.max_bits;
    sum.min_bits_less_one = a.min_bits_less_one < b.min_bits_less_one
                                ? a.min_bits_less_one
                                : b.min_bits_less_one;
    return sum;
  }
};

// The moments of a pass that looked for the extrema.
Moments MomentsOf(const PassTotals& totals);

// In device memory, for one launch at a time.
struct GridScratch {
  PassTotals blocks[2][kMaxPassBlocks];
  uint64_t segment_counts[kMaxSegments];
  uint32_t histograms[3][kHistogramBins];
  unsigned barrier;
};

// Some elements of each segment, in ascending order of index.
struct KeptLists {
  uint16_t* offsets = nullptr;  // [segments, kListCapacity], in the segment.
  float* values = nullptr;      // [segments, kListCapacity]
  // [segments]. A size above the capacity means that there is no list.
  uint32_t* sizes = nullptr;
};

// Where a grid leaves a selection: on the device if there are no more than
// `capacity` elements, and the first host_capacity of them in pinned memory.
struct SelectionOut {
  int64_t capacity = 0;
  uint32_t* indices = nullptr;
  float* values = nullptr;
  int64_t host_capacity = 0;
  uint32_t* host_indices = nullptr;
  float* host_values = nullptr;
};

// Allocates `count` elements of a region; they are freed with the last handle.
template <class T>
absl::StatusOr<std::shared_ptr<T>> AllocateArray(
    const std::shared_ptr<MemoryRegion>& memory, int64_t count,
    absl::string_view what) {
  const auto piece =
      memory->Allocate(count * static_cast<int64_t>(sizeof(T)), what);
  if (!piece.ok()) return piece.status();
  return std::shared_ptr<T>(static_cast<T*>(*piece),
                            [memory](T* data) { memory->Free(data); });
}

// Used by one thread at a time.
class SparseWork {
 public:
  // `streams` is not owned and outlives this. Its device must be the current
  // one.
  static absl::StatusOr<std::unique_ptr<SparseWork>> Create(
      CudaStreams* streams, std::shared_ptr<MemoryRegion> memory);

  CudaStreams& streams() const { return *streams_; }
  const std::shared_ptr<MemoryRegion>& memory() const { return memory_; }
  cudaStream_t stream() const { return streams_->compression(); }
  GridScratch* scratch() const { return scratch_.get(); }

  // Every operation must call this first: it orders the operation after all
  // work that layers have queued.
  absl::Status Begin() const;
  // An operation that has not waited must call this last: it orders all later
  // work of layers after the operation.
  absl::Status End() const;
  absl::Status Await() const { return streams_->Await(stream()); }

  // Begins an operation: queues a kernel of passes.h over n elements, at least
  // 1, whose blocks are all resident at a time.
  template <class Arguments>
  absl::Status Launch(void (*kernel)(Arguments), int64_t n,
                      const Arguments& arguments) {
    return LaunchGrid(reinterpret_cast<const void*>(kernel), n, &arguments);
  }

 private:
  SparseWork(CudaStreams* streams, std::shared_ptr<MemoryRegion> memory)
      : streams_(streams), memory_(std::move(memory)) {}

  absl::Status LaunchGrid(const void* kernel, int64_t n, const void* arguments);

  CudaStreams* const streams_;  // Not owned.
  const std::shared_ptr<MemoryRegion> memory_;
  std::shared_ptr<GridScratch> scratch_;
  std::map<const void*, int> max_blocks_;  // By kernel.
};

// An array in device memory that grows on demand. Used by one thread at a time.
template <class T>
class DeviceRoom {
 public:
  // Ensures that there are at least `count` elements from now on. If the array
  // grows, its contents are lost and the call waits for all streams. Errors:
  // kResourceExhausted, after which the array is empty.
  absl::Status Reserve(SparseWork* work, int64_t count,
                       absl::string_view what) {
    if (count <= count_) return absl::OkStatus();
    // Queued work may still use memory that is freed here or was free before.
    PS_RETURN_IF_ERROR(work->streams().MakeCurrent());
    PS_RETURN_IF_ERROR(work->streams().AwaitAll());
    count_ = 0;
    data_.reset();
    PS_ASSIGN_OR_RETURN(data_, AllocateArray<T>(work->memory(), count, what));
    count_ = count;
    return absl::OkStatus();
  }

  T* get() const { return data_.get(); }

 private:
  std::shared_ptr<T> data_;
  int64_t count_ = 0;
};

// The same in pinned memory of the host. No queued work may use the array when
// it grows.
template <class T>
class PinnedRoom {
 public:
  absl::Status Reserve(SparseWork* work, int64_t count) {
    if (count <= count_) return absl::OkStatus();
    PS_RETURN_IF_ERROR(work->streams().MakeCurrent());
    count_ = 0;
    PS_ASSIGN_OR_RETURN(
        data_, AllocatePinnedMemory(count * static_cast<int64_t>(sizeof(T)),
                                    work->stream()));
    count_ = count;
    return absl::OkStatus();
  }

  T* get() const { return static_cast<T*>(data_.get()); }
  int64_t count() const { return count_; }

 private:
  std::shared_ptr<void> data_;
  int64_t count_ = 0;
};

// Lists for the segments of a vector; 0.75 bytes per element of the vector.
class ListRoom {
 public:
  // Makes room for n elements; otherwise as DeviceRoom.
  absl::Status Reserve(SparseWork* work, int64_t n, absl::string_view what) {
    const int64_t listed = NumSegments(n) * kListCapacity;
    PS_RETURN_IF_ERROR(offsets_.Reserve(work, listed, what));
    PS_RETURN_IF_ERROR(values_.Reserve(work, listed, what));
    return sizes_.Reserve(work, NumSegments(n), what);
  }
  KeptLists lists() const {
    return {offsets_.get(), values_.get(), sizes_.get()};
  }

 private:
  DeviceRoom<uint16_t> offsets_;
  DeviceRoom<float> values_;
  DeviceRoom<uint32_t> sizes_;
};

// A selection on the device and the host; 8 bytes per element on each.
class SelectionRoom final : public DeviceSelection {
 public:
  // Makes room for `capacity` elements on the device, and on the host for about
  // `likely` of them. No queued work may use the host's. Errors as of
  // DeviceRoom.
  absl::Status Reserve(SparseWork* work, int64_t capacity, int64_t likely,
                       absl::string_view what);

  // Where the device leaves it.
  SelectionOut out() const {
    return {capacity_,           indices_.get(),
            values_.get(),       host_values_.count(),
            host_indices_.get(), host_values_.get()};
  }

  // To be called when `count` elements have been selected, and the work that
  // selected them is done. Returns this, with the elements on the host, for
  // which it waits if the room there was too small; or null if there are more
  // than `capacity`.
  absl::StatusOr<DeviceSelection*> Take(int64_t count);

  absl::Status Scatter(bool zeros, float* u) override;

 private:
  SparseWork* work_ = nullptr;  // Not owned.
  int64_t capacity_ = 0;
  DeviceRoom<uint32_t> indices_;
  DeviceRoom<float> values_;
  PinnedRoom<uint32_t> host_indices_;
  PinnedRoom<float> host_values_;
};

// Queues u[indices[i]] = values[i], or 0 if `values` is null. No index may
// occur twice. Pointers are to device memory.
cudaError_t LaunchScatter(const uint32_t* indices, const float* values,
                          int64_t count, float* u, cudaStream_t stream);

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_SPARSE_WORK_H_
