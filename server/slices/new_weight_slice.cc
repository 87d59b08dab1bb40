#include "common/consistency.h"
#include "server/slices/stale_slice.h"
#include "server/slices/synchronous_slice.h"
#include "server/slices/weight_slice.h"

namespace ps {

std::unique_ptr<WeightSlice> NewWeightSlice(const SliceOptions& options,
                                            SquaresExchange* exchange,
                                            Timer* timer) {
  if (UpdatesByEachPush(*options.config)) {
    return std::make_unique<StaleSlice>(options);
  }
  return std::make_unique<SynchronousSlice>(options, exchange, timer);
}

}  // namespace ps
