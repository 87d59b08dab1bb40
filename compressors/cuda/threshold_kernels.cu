// Finds thresholds by counts or from a sample in one kernel, whose body is in
// threshold_grid.h.

#include "compressors/cuda/grid_kernel.h"
#include "compressors/cuda/threshold_grid.h"

namespace ps {

PS_INSTANTIATE_GRID_WORK(ThresholdWork);

}  // namespace ps
