// SIDCo in one kernel, whose body is in sidco_grid.h.

#include "compressors/cuda/grid_kernel.h"
#include "compressors/cuda/sidco_grid.h"

namespace ps {

PS_INSTANTIATE_GRID_WORK(SidcoWork);

}  // namespace ps
