// What one iteration took, as far as a choice between compressing and not
// depends on it.
#ifndef COMPRESSORS_AUTOMATIC_EXCHANGE_COSTS_H_
#define COMPRESSORS_AUTOMATIC_EXCHANGE_COSTS_H_

#include <cstdint>
#include <vector>

namespace ps {

// One worker's, of one bucket.
struct BucketCosts {
  // Seconds of the worker: choosing and coding what is sent, writing answers.
  double codec = 0;
  // Seconds of the servers' work on the bucket.
  double server = 0;
  // Seconds between pushes and their answers outside the servers; mean over
  // the slices.
  double link = 0;
  int64_t bytes_up = 0;    // Of this worker's pushes.
  int64_t bytes_down = 0;  // Of the answers to them.
};

struct ExchangeCosts {
  double seconds = 0;  // From the end of the iteration before, without pauses.
  std::vector<BucketCosts> buckets;
};

}  // namespace ps

#endif  // COMPRESSORS_AUTOMATIC_EXCHANGE_COSTS_H_
