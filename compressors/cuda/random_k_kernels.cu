// Elements at random in one kernel: its body is in random_k_grid.h.

#include "compressors/cuda/grid_kernel.h"
#include "compressors/cuda/random_k_grid.h"

namespace ps {

PS_INSTANTIATE_GRID_WORK(RandomKWork);

}  // namespace ps
