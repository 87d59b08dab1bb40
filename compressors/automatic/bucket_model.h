// What each bucket would gain from compression, by what iterations took in
// which all were sent whole and in which all were compressed.
#ifndef COMPRESSORS_AUTOMATIC_BUCKET_MODEL_H_
#define COMPRESSORS_AUTOMATIC_BUCKET_MODEL_H_

#include <vector>

#include "compressors/automatic/exchange_costs.h"

namespace ps {

struct BucketModel {
  // What a byte more, up or down, adds to an iteration; 0 where bytes are free.
  double seconds_per_byte = 0;
  std::vector<bool> compressed;  // [bucket]; those that gain from it.
  double seconds = 0;            // Of an iteration that does so.
};

// A bucket gains, in seconds, what compression saves of its servers' work and
// of the bytes' time, less what it adds to the worker's. The price of a byte is
// what the two kinds of iteration differ by, without the work, over the bytes
// that they differ by: so it counts what the link adds to an iteration, and
// nothing that is hidden behind the backward pass. Both of the same buckets.
BucketModel ModelBuckets(const ExchangeCosts& dense,
                         const ExchangeCosts& compressed);

}  // namespace ps

#endif  // COMPRESSORS_AUTOMATIC_BUCKET_MODEL_H_
