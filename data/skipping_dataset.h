// A data set whose examples need not all be readable.
#ifndef DATA_SKIPPING_DATASET_H_
#define DATA_SKIPPING_DATASET_H_

#include <memory>

#include "data/dataset.h"

namespace ps {

// Reads the next example in place of one of `set` that is damaged (kDataLoss or
// kInvalidArgument), so that a batch depends on the files alone; after the last
// comes the first. Each such example is logged once, with the reason and how
// many there are so far. Errors of Read: all others; that of an example if the
// whole set is damaged.
std::unique_ptr<Dataset> NewSkippingDataset(std::unique_ptr<Dataset> set);

}  // namespace ps

#endif  // DATA_SKIPPING_DATASET_H_
