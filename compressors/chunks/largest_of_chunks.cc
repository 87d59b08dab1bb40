#include "compressors/chunks/largest_of_chunks.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "common/thread_pool.h"
#include "tensor/sparse_kernels.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The number of elements that a thread takes at a time.
constexpr int64_t kStretch = 64 * 1024;

// Returns the index of the first largest magnitude. u: [n], n at least 1.
int64_t FirstOfLargest(const float* u, int64_t n) {
  // Two loops instead of one, because compilers make both of them fast.
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, MagnitudeBits(u[i]));
  }
  int64_t first = 0;
  while (MagnitudeBits(u[first]) != largest) ++first;
  return first;
}

// A run's elements, and where its selection is written.
struct Run {
  ChunkRun chunks;
  int64_t begin = 0;            // The begin in the vector.
  const float* u = nullptr;     // [chunks.size]
  uint32_t* indices = nullptr;  // [chunks.num_chunks()]
  float* values = nullptr;      // [chunks.num_chunks()]
};

void SelectFrom(const Run& run, int64_t begin, int64_t end) {
  const int64_t size = run.chunks.chunk_size;
  for (int64_t at = begin; at < end; at += size) {
    const int64_t place =
        at + FirstOfLargest(run.u + at, std::min(size, end - at));
    run.indices[at / size] = static_cast<uint32_t>(run.begin + place);
    run.values[at / size] = run.u[place];
  }
}

}  // namespace

LargestOfChunks::LargestOfChunks(ChunkLayout layout, Backend* backend)
    : layout_(std::move(layout)), backend_(backend) {
  for (const std::vector<ChunkRun>& part : layout_) {
    for (const ChunkRun& run : part) num_chunks_ += run.num_chunks();
  }
}

absl::Status LargestOfChunks::SelectOfSum(const SelectorInput& input,
                                          Selected* selected,
                                          CompressionStats* stats) {
  SparseKernels& kernels = backend_->sparse();
  if (num_chunks_ == input.n) {
    return SelectEverything(input, &kernels, selected, stats);
  }
  Moments moments;
  PS_RETURN_IF_ERROR(kernels.AddAndMeasure(input.residual, input.gradient,
                                           input.n, input.u, &moments));
  stats->non_finite = moments.num_non_finite > 0;
  if (stats->non_finite) return absl::OkStatus();
  stats->raw_count = num_chunks_;
  Selection& elements = selected->elements;
  elements.indices.resize(num_chunks_);
  elements.values.resize(num_chunks_);
  selected->chunks = &layout_;
  const float* u = input.u;
  if (kernels.device_work() != nullptr) {
    host_.resize(input.n);
    PS_RETURN_IF_ERROR(
        backend_->CopyToHost(Tensor::View(input.u, {input.n}), host_.data()));
    u = host_.data();
  }
  Run run;
  int64_t num_selected = 0;
  for (const std::vector<ChunkRun>& part : layout_) {
    for (const ChunkRun& chunks : part) {
      run.chunks = chunks;
      run.u = u + run.begin;
      run.indices = elements.indices.data() + num_selected;
      run.values = elements.values.data() + num_selected;
      const int64_t stretch =
          std::max<int64_t>(1, kStretch / chunks.chunk_size) *
          chunks.chunk_size;
      kernels.host_threads().ParallelFor(
          chunks.size, stretch, [&run](const ChunkRange& range) {
            SelectFrom(run, range.begin, range.end);
          });
      run.begin += chunks.size;
      num_selected += chunks.num_chunks();
    }
  }
  stats->threshold = 0;
  return absl::OkStatus();
}

}  // namespace ps
