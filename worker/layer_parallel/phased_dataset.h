// A training set without augmentation in epochs whose auxiliary variables
// belong to the unchanged examples.
#ifndef WORKER_LAYER_PARALLEL_PHASED_DATASET_H_
#define WORKER_LAYER_PARALLEL_PHASED_DATASET_H_

#include <functional>
#include <memory>

#include "data/dataset.h"

namespace ps {

// Creates the set. `changing` reads most epochs, `plain` those for which
// plain_epoch returns true. Both hold the same examples. The function must be
// pure.
std::unique_ptr<Dataset> NewPhasedDataset(
    std::unique_ptr<Dataset> changing, std::shared_ptr<const Dataset> plain,
    std::function<bool(int64_t epoch)> plain_epoch);

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_PHASED_DATASET_H_
