// The launchers of SIDCo's passes on an emulated device, a loop over blocks
// each.

#ifdef PS_HAVE_CUDA

#include <memory>

#include "compressors/cuda/sidco_launch.h"
#include "tests/tensor/cuda/emulated_device.h"
#include "tests/tensor/cuda/host_block.h"

namespace ps {
namespace {

// Calls body(block, chunk, shared) for every chunk of a vector.
template <class Shared, class Body>
void ForEachChunk(int64_t n, const Body& body) {
  HostBlock block(EmulatedThreadOrder());
  for (int64_t chunk = 0; chunk < NumSparseChunks(n); ++chunk) {
    const auto shared = std::make_unique<Shared>();
    body(block, chunk, shared.get());
  }
}

}  // namespace

cudaError_t LaunchPass(const SidcoPasses* passes,
                       const SiftArguments& arguments, cudaStream_t stream) {
  return QueueOnEmulatedStream(stream, [passes, arguments] {
    ForEachChunk<SiftShared>(
        arguments.input.n,
        [&](HostBlock& block, int64_t chunk, SiftShared* shared) {
          RunPass(block, *passes, arguments, chunk, shared);
        });
  });
}

cudaError_t LaunchAdvance(const ChunkStats* stats, int64_t num_chunks,
                          SidcoPasses* passes, cudaStream_t stream) {
  return QueueOnEmulatedStream(stream, [=] {
    HostBlock block(EmulatedThreadOrder());
    const auto shared = std::make_unique<AdvanceShared>();
    Advance(block, stats, num_chunks, shared.get(), passes);
  });
}

cudaError_t LaunchCountSelected(const SidcoPasses* passes,
                                const SiftArguments& arguments,
                                cudaStream_t stream) {
  return QueueOnEmulatedStream(stream, [passes, arguments] {
    ForEachChunk<SiftShared>(
        arguments.input.n,
        [&](HostBlock& block, int64_t chunk, SiftShared* shared) {
          CountSelected(block, *passes, arguments, chunk, shared);
        });
  });
}

cudaError_t LaunchWriteSelected(const SidcoPasses* passes,
                                const SelectArguments& arguments,
                                cudaStream_t stream) {
  return QueueOnEmulatedStream(stream, [passes, arguments] {
    ForEachChunk<TileShared>(
        arguments.input.n,
        [&](HostBlock& block, int64_t chunk, TileShared* shared) {
          WriteSelected(block, *passes, arguments, chunk, shared);
        });
  });
}

}  // namespace ps

#endif  // PS_HAVE_CUDA
