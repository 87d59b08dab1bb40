// The costs of one iteration that matter for the choice of whether to compress.
#ifndef COMPRESSORS_AUTOMATIC_EXCHANGE_COSTS_H_
#define COMPRESSORS_AUTOMATIC_EXCHANGE_COSTS_H_

#include <cstdint>
#include <vector>

namespace ps {

// The costs of one bucket for one worker.
struct BucketCosts {
  // The worker's seconds of selecting and encoding, and of writing answers.
  double codec = 0;
  // The servers' seconds of work on the bucket.
  double server = 0;
  // Seconds between pushes and their answers spent outside the servers; mean
  // over the slices.
  double link = 0;
  int64_t bytes_up = 0;    // The bytes of this worker's pushes.
  int64_t bytes_down = 0;  // The bytes of the answers to them.
};

struct ExchangeCosts {
  // The time since the end of the previous iteration, without pauses.
  double seconds = 0;
  std::vector<BucketCosts> buckets;
};

}  // namespace ps

#endif  // COMPRESSORS_AUTOMATIC_EXCHANGE_COSTS_H_
