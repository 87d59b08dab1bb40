// The launchers of the sparse kernels, each a loop over blocks.

#ifdef PS_HAVE_CUDA

#include <memory>

#include "tensor/cuda/sparse/sparse_launch.h"
#include "tests/tensor/cuda/emulated_device.h"

namespace ps {
namespace {

template <class Shared>
class SharedMemory {
 public:
  Shared* get() { return shared_.get(); }

 private:
  // Leftovers of another block must not matter.
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
};

// Calls body(block, b) for every block of a grid, in an order derived from the
// order of threads.
template <class Body>
void ForEachBlock(int64_t num_blocks, const Body& body) {
  HostBlock block(EmulatedThreadOrder());
  for (int64_t i = 0; i < num_blocks; ++i) {
    body(block, EmulatedThreadOrder() == ThreadOrder::kForward
                    ? i
                    : num_blocks - 1 - i);
  }
}

template <class Element>
cudaError_t QueueElements(const Element& element, int64_t n,
                          cudaStream_t stream) {
  return QueueOnEmulatedStream(stream, [element, n] {
    constexpr int64_t kBlocks = 3;
    ForEachBlock(kBlocks, [&](HostBlock& block, int64_t b) {
      ForEachElement(block, b, kBlocks, kSparseThreads, n, element);
    });
  });
}

}  // namespace

cudaError_t LaunchSift(const SiftArguments& arguments, cudaStream_t stream) {
  return QueueOnEmulatedStream(stream, [arguments] {
    ForEachBlock(NumSparseChunks(arguments.input.n),
                 [&](HostBlock& block, int64_t b) {
                   SharedMemory<SiftShared> shared;
                   SiftChunk(block, arguments, b, shared.get());
                 });
  });
}

cudaError_t LaunchFold(const ChunkStats* stats, int64_t num_chunks,
                       ChunkStats* total, cudaStream_t stream) {
  return QueueOnEmulatedStream(stream, [=] {
    HostBlock block(EmulatedThreadOrder());
    SharedMemory<FoldShared> shared;
    FoldChunks(block, stats, num_chunks, /*sums=*/true, shared.get(), total);
  });
}

cudaError_t LaunchScan(const ChunkStats* stats, int64_t num_chunks,
                       int64_t* bases, cudaStream_t stream) {
  return QueueOnEmulatedStream(stream, [=] {
    HostBlock block(EmulatedThreadOrder());
    SharedMemory<ScanShared> shared;
    ScanCounts(block, stats, num_chunks, shared.get(), bases);
  });
}

cudaError_t LaunchSelect(const SelectArguments& arguments,
                         cudaStream_t stream) {
  return QueueOnEmulatedStream(stream, [arguments] {
    ForEachBlock(NumSparseChunks(arguments.input.n),
                 [&](HostBlock& block, int64_t b) {
                   SharedMemory<PackTileShared> shared;
                   SelectChunk(block, arguments, b, shared.get());
                 });
  });
}

cudaError_t LaunchMultiply(const float* u, int64_t n, ChunkProducts* products,
                           cudaStream_t stream) {
  SparseInput input;
  input.u = const_cast<float*>(u);
  input.n = n;
  return QueueOnEmulatedStream(stream, [=] {
    ForEachBlock(NumSparseChunks(n), [&](HostBlock& block, int64_t b) {
      SharedMemory<MultiplyShared> shared;
      MultiplyChunk(block, input, b, shared.get(), products);
    });
  });
}

cudaError_t LaunchHistogram(const HistogramArguments& arguments,
                            cudaStream_t stream) {
  return QueueOnEmulatedStream(stream, [arguments] {
    const int64_t blocks =
        (arguments.num_samples + kSamplesPerBlock - 1) / kSamplesPerBlock;
    ForEachBlock(blocks, [&](HostBlock& block, int64_t b) {
      SharedMemory<HistogramShared> shared;
      CountBlock(block, arguments, b, shared.get());
    });
  });
}

cudaError_t LaunchScaledSum(const ScaledSum& sum, int64_t n,
                            cudaStream_t stream) {
  return QueueElements(sum, n, stream);
}

cudaError_t LaunchGather(const GatherValues& gather, int64_t n,
                         cudaStream_t stream) {
  return QueueElements(gather, n, stream);
}

cudaError_t LaunchScatter(const ScatterValues& scatter, int64_t n,
                          cudaStream_t stream) {
  return QueueElements(scatter, n, stream);
}

cudaError_t LaunchAddAt(const AddValues& add, int64_t n, cudaStream_t stream) {
  return QueueElements(add, n, stream);
}

}  // namespace ps

#endif  // PS_HAVE_CUDA
