#include "compressors/chunks/largest_of_chunks.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

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

// Returns how many are selected of these chunks; only the last one of a run may
// be shorter than the others.
int64_t SelectedOf(const ChunkRun& chunks, int64_t of_each) {
  const int64_t last =
      chunks.size - (chunks.num_chunks() - 1) * chunks.chunk_size;
  return (chunks.num_chunks() - 1) * std::min(of_each, chunks.chunk_size) +
         std::min(of_each, last);
}

// A run's elements, and where its selection is written.
struct Run {
  ChunkRun chunks;
  int64_t of_each = 0;
  int64_t begin = 0;            // The begin in the vector.
  const float* u = nullptr;     // [chunks.size]
  uint32_t* indices = nullptr;  // [SelectedOf(chunks, of_each)]
  float* values = nullptr;      // The same.
};

void SelectOneOfEach(const Run& run, int64_t begin, int64_t end) {
  const int64_t size = run.chunks.chunk_size;
  for (int64_t at = begin; at < end; at += size) {
    const int64_t place =
        at + FirstOfLargest(run.u + at, std::min(size, end - at));
    run.indices[at / size] = static_cast<uint32_t>(run.begin + place);
    run.values[at / size] = run.u[place];
  }
}

void SelectSomeOfEach(const Run& run, int64_t begin, int64_t end) {
  const int64_t size = run.chunks.chunk_size;
  std::vector<uint32_t> bits;
  for (int64_t at = begin; at < end; at += size) {
    const float* const u = run.u + at;
    const int64_t n = std::min(size, end - at);
    const int64_t k = std::min(run.of_each, n);
    bits.resize(n);
    for (int64_t i = 0; i < n; ++i) bits[i] = MagnitudeBits(u[i]);
    std::nth_element(bits.begin(), bits.begin() + (k - 1), bits.end(),
                     std::greater<>());
    const uint32_t least = bits[k - 1];
    int64_t equal =
        k - std::count_if(bits.begin(), bits.begin() + k,
                          [least](uint32_t x) { return x > least; });
    int64_t to = at / size * std::min(run.of_each, size);
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t magnitude = MagnitudeBits(u[i]);
      if (magnitude < least) continue;
      if (magnitude == least && equal-- <= 0) continue;
      run.indices[to] = static_cast<uint32_t>(run.begin + at + i);
      run.values[to++] = u[i];
    }
  }
}

}  // namespace

LargestOfChunks::LargestOfChunks(ChunkLayout layout, int64_t of_each,
                                 Backend* backend)
    : layout_(std::move(layout)), of_each_(of_each), backend_(backend) {
  for (const std::vector<ChunkRun>& part : layout_) {
    for (const ChunkRun& run : part) num_selected_ += SelectedOf(run, of_each_);
  }
}

absl::Status LargestOfChunks::SelectOfSum(const SelectorInput& input,
                                          Selected* selected,
                                          CompressionStats* stats) {
  SparseKernels& kernels = backend_->sparse();
  if (num_selected_ == input.n) {
    return SelectEverything(input, &kernels, selected, stats);
  }
  Moments moments;
  PS_RETURN_IF_ERROR(kernels.AddAndMeasure(input.residual, input.gradient,
                                           input.n, input.u, &moments));
  stats->non_finite = moments.num_non_finite > 0;
  if (stats->non_finite) return absl::OkStatus();
  stats->raw_count = num_selected_;
  Selection& elements = selected->elements;
  elements.indices.resize(num_selected_);
  elements.values.resize(num_selected_);
  // The code of positions in chunks is for one of each.
  if (of_each_ == 1) selected->chunks = &layout_;
  const float* u = input.u;
  if (kernels.device_work() != nullptr) {
    host_.resize(input.n);
    PS_RETURN_IF_ERROR(
        backend_->CopyToHost(Tensor::View(input.u, {input.n}), host_.data()));
    u = host_.data();
  }
  const auto select = of_each_ == 1 ? SelectOneOfEach : SelectSomeOfEach;
  Run run;
  run.of_each = of_each_;
  run.indices = elements.indices.data();
  run.values = elements.values.data();
  for (const std::vector<ChunkRun>& part : layout_) {
    for (const ChunkRun& chunks : part) {
      run.chunks = chunks;
      run.u = u + run.begin;
      const int64_t stretch =
          std::max<int64_t>(1, kStretch / chunks.chunk_size) *
          chunks.chunk_size;
      kernels.host_threads().ParallelFor(
          chunks.size, stretch, [&run, select](const ChunkRange& range) {
            select(run, range.begin, range.end);
          });
      run.begin += chunks.size;
      run.indices += SelectedOf(chunks, of_each_);
      run.values += SelectedOf(chunks, of_each_);
    }
  }
  stats->threshold = 0;
  return absl::OkStatus();
}

}  // namespace ps
