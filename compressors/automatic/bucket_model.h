// Estimates what each bucket would gain from compression, from the costs of
// iterations that sent all buckets whole and of iterations that compressed all.
#ifndef COMPRESSORS_AUTOMATIC_BUCKET_MODEL_H_
#define COMPRESSORS_AUTOMATIC_BUCKET_MODEL_H_

#include <vector>

#include "compressors/automatic/exchange_costs.h"

namespace ps {

struct BucketModel {
  // The seconds that each further byte, up or down, adds to an iteration; 0 if
  // bytes are free.
  double seconds_per_byte = 0;
  std::vector<bool> compressed;  // [bucket]; true for those that gain.
  // The expected time of an iteration with that choice.
  double seconds = 0;
};

// Finds the buckets that gain. A bucket's gain, in seconds, is what compression
// saves in the servers' work and in the transfer of bytes, minus what it adds
// to the worker's work. The price of a byte is the difference in time between
// the two kinds of iteration, without the work, divided by their difference in
// bytes. So it includes the time that the link adds to an iteration, but not
// what is hidden behind the backward pass. `dense` and `compressed` must
// describe the same buckets.
BucketModel ModelBuckets(const ExchangeCosts& dense,
                         const ExchangeCosts& compressed);

}  // namespace ps

#endif  // COMPRESSORS_AUTOMATIC_BUCKET_MODEL_H_
