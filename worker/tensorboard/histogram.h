// Computes histograms of a vector's elements, for TensorBoard.
#ifndef WORKER_TENSORBOARD_HISTOGRAM_H_
#define WORKER_TENSORBOARD_HISTOGRAM_H_

#include "absl/types/span.h"
#include "proto/tensorboard_event.pb.h"

namespace ps {

// Returns a histogram with eight buckets for each factor of two in magnitude,
// for either sign, one for 0 and the smallest numbers; +threshold and
// -threshold, if above 0, are limits of buckets, too. Elements that are not
// finite are omitted. Takes one pass.
TensorBoardHistogram HistogramOf(absl::Span<const float> values,
                                 double threshold);

}  // namespace ps

#endif  // WORKER_TENSORBOARD_HISTOGRAM_H_
