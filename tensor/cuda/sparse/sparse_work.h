// The steps that the sparse kernels and their sieves are made of: launches on
// the compression stream, scratch on the device, results on the host.
//
// Includes CUDA's headers, so only for libraries that are built only with the
// toolkit.
#ifndef TENSOR_CUDA_SPARSE_SPARSE_WORK_H_
#define TENSOR_CUDA_SPARSE_SPARSE_WORK_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensor/cuda/cuda_streams.h"
#include "tensor/cuda/memory_region.h"
#include "tensor/cuda/sparse/sparse_launch.h"
#include "tensor/sparse_kernels.h"

namespace ps {

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

// Used by one thread at a time. All scratch is sized for the longest possible
// vector, a few megabytes, so that nothing is allocated later.
class SparseWork {
 public:
  // `streams` is not owned and outlives this. Its device must be the current
  // one.
  static absl::StatusOr<std::unique_ptr<SparseWork>> Create(
      CudaStreams* streams, std::shared_ptr<MemoryRegion> memory);

  CudaStreams& streams() const { return *streams_; }
  const std::shared_ptr<MemoryRegion>& memory() const { return memory_; }
  cudaStream_t stream() const { return streams_->compression(); }

  // Scratch of the device, for other code that works on the same stream; the
  // next operation overwrites it. [kMaxSparseChunks], and one more for bases.
  ChunkStats* stats() const { return device_->stats; }
  int64_t* bases() const { return device_->bases; }

  // Every operation must call this first: it orders the operation after all
  // work that layers have queued.
  absl::Status Begin() const;
  // An operation that has not waited must call this last: it orders all later
  // work of layers after the operation.
  absl::Status End() const;

  // Runs `arguments` (whose `stats` are set here) over a vector of any length,
  // and waits for the totals.
  absl::StatusOr<ChunkStats> Sift(SiftArguments arguments);

  // Replaces `selection` by the first elements in a range, up to `limit`.
  absl::Status Select(const SparseInput& input, const MagnitudeRange& wanted,
                      int64_t limit, Selection* selection);

  // As in SparseKernels.
  absl::Status SumLogs(const float* u, int64_t n, double* sum);
  absl::Status Count(HistogramArguments arguments,
                     std::vector<int64_t>* counts);
  absl::Status Gather(const float* u, Selection* selection);
  absl::Status GatherTo(const float* u, const std::vector<uint32_t>& indices,
                        float* out);
  absl::Status Scatter(const Selection& selection, float* u);
  absl::Status AddAt(const Selection& selection, float* u);

  // Selects in place: `indices` and `values` are in the device's memory, with
  // room for `capacity` elements. Returns the number of wanted elements; if it
  // is more than `capacity`, the contents of `indices` and `values` must not be
  // used.
  absl::StatusOr<int64_t> SelectInPlace(const SparseInput& input,
                                        const MagnitudeRange& wanted,
                                        int64_t capacity, uint32_t* indices,
                                        float* values);

 private:
  // Elements of a selection that are copied between host and device at a time.
  static constexpr int64_t kPiece = int64_t{1} << 20;
  // Chunks whose products are copied at a time.
  static constexpr int64_t kProductChunks = 1024;

  // A piece of a selection: some indices, followed by the same number of
  // values, so that both are copied between host and device at once.
  struct Piece {
    uint32_t words[2 * kPiece];

    uint32_t* indices() { return words; }
    float* values(int64_t size) {
      return reinterpret_cast<float*>(words + size);
    }
  };

  // Memory of the host that results are copied to.
  struct HostScratch {
    ChunkStats total;
    int64_t count;
    unsigned long long bins[kHistogramBins];
    ChunkProducts products[kProductChunks];
    Piece piece;
  };
  struct DeviceScratch {
    ChunkStats total;
    ChunkStats stats[kMaxSparseChunks];
    int64_t bases[kMaxSparseChunks + 1];
    unsigned long long bins[kHistogramBins];
    ChunkProducts products[kProductChunks];
    Piece piece;
  };

  SparseWork(CudaStreams* streams, std::shared_ptr<MemoryRegion> memory)
      : streams_(streams), memory_(std::move(memory)) {}

  // Queues the computation of each chunk's count of wanted elements, and of
  // their prefix sums.
  absl::Status QueueCounts(const SparseInput& input,
                           const MagnitudeRange& wanted);
  // Processes a selection piece by piece: one copy to the device, then
  // launch(indices, values, size), which returns a status.
  template <class Launch>
  absl::Status ForEachPiece(const Selection& selection, const Launch& launch);

  // Copies `count` elements, in the order of the stream.
  template <class T>
  absl::Status ToHost(const T* device, int64_t count, T* host) const;
  template <class T>
  absl::Status ToDevice(const T* host, int64_t count, T* device) const;

  CudaStreams* const streams_;  // Not owned.
  const std::shared_ptr<MemoryRegion> memory_;
  std::shared_ptr<DeviceScratch> device_;
  std::shared_ptr<void> pinned_;
  HostScratch* host_ = nullptr;  // In pinned_.
};

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_SPARSE_WORK_H_
