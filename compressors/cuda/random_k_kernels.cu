// Selects random elements in one kernel, whose body is in random_k_grid.h.

#include "compressors/cuda/grid_kernel.h"
#include "compressors/cuda/random_k_grid.h"

namespace ps {

PS_INSTANTIATE_GRID_WORK(RandomKWork);

}  // namespace ps
