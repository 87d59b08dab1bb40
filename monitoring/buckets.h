// Defines the buckets of histograms.
#ifndef MONITORING_BUCKETS_H_
#define MONITORING_BUCKETS_H_

#include <vector>

namespace ps {

// Returns seconds, from 10 us to 100 s, three for each power of ten: a phase of
// a small model's iteration takes microseconds, and a snapshot of a large one
// minutes.
std::vector<double> SecondsBuckets();

// Returns numbers of updates: 0, 1, 2, 4 and so on up to 1024.
std::vector<double> UpdatesBuckets();

}  // namespace ps

#endif  // MONITORING_BUCKETS_H_
