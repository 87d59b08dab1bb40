// Wraps a data set some of whose examples are damaged.
#ifndef DATA_SKIPPING_DATASET_H_
#define DATA_SKIPPING_DATASET_H_

#include <memory>

#include "data/dataset.h"

namespace ps {

// Replaces each damaged example of `set` (kDataLoss or kInvalidArgument) by the
// next one, so that a batch depends on the files alone; after the last comes
// the first. Each such example is logged once, with the reason and their number
// so far. Errors of Read: all others; that of an example if the whole set is
// damaged.
std::unique_ptr<Dataset> NewSkippingDataset(std::unique_ptr<Dataset> set);

}  // namespace ps

#endif  // DATA_SKIPPING_DATASET_H_
