// The launches of the compressors' grids on an emulated device: loops over
// blocks.

#ifdef PS_HAVE_CUDA

#include "compressors/cuda/grid_launch.h"
#include "compressors/cuda/random_k_grid.h"
#include "compressors/cuda/sidco_grid.h"
#include "compressors/cuda/threshold_grid.h"
#include "compressors/cuda/top_k_grid.h"
#include "tests/tensor/cuda/emulated_device.h"
#include "tests/tensor/cuda/host_grid.h"

namespace ps {

template <class Work>
cudaError_t MaxGridWorkBlocks(int* num_blocks) {
  // Fewer than there are chunks in most tests, and not a divisor of them.
  *num_blocks = 3;
  return cudaSuccess;
}

template <class Work>
cudaError_t LaunchGridWork(const typename Work::Arguments& arguments,
                           int num_blocks, typename Work::State* state,
                           GridBarrier*, cudaStream_t stream) {
  return QueueOnEmulatedStream(stream, [=] {
    HostGrid<typename Work::Shared> grid(EmulatedThreadOrder(), num_blocks);
    Work::Run(grid, arguments, state);
  });
}

PS_INSTANTIATE_GRID_WORK(RandomKWork);
PS_INSTANTIATE_GRID_WORK(SidcoWork);
PS_INSTANTIATE_GRID_WORK(ThresholdWork);
PS_INSTANTIATE_GRID_WORK(TopKWork);

}  // namespace ps

#endif  // PS_HAVE_CUDA
