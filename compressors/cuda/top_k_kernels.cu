// Selects the largest magnitudes in one kernel, whose body is in top_k_grid.h.

#include "compressors/cuda/grid_kernel.h"
#include "compressors/cuda/top_k_grid.h"

namespace ps {

PS_INSTANTIATE_GRID_WORK(TopKWork);

}  // namespace ps
