#include "compressors/automatic/bucket_model.h"

#include <algorithm>
#include <cstdint>

#include "glog/logging.h"

namespace ps {
namespace {

int64_t Bytes(const BucketCosts& bucket) {
  return bucket.bytes_up + bucket.bytes_down;
}

double Work(const BucketCosts& bucket) { return bucket.codec + bucket.server; }

}  // namespace

BucketModel ModelBuckets(const ExchangeCosts& dense,
                         const ExchangeCosts& compressed) {
  CHECK_EQ(dense.buckets.size(), compressed.buckets.size());
  BucketModel model;
  double link = dense.seconds - compressed.seconds;
  int64_t bytes = 0;
  for (size_t b = 0; b < dense.buckets.size(); ++b) {
    link -= Work(dense.buckets[b]) - Work(compressed.buckets[b]);
    bytes += Bytes(dense.buckets[b]) - Bytes(compressed.buckets[b]);
  }
  if (bytes > 0) {
    model.seconds_per_byte = std::max(0.0, link / static_cast<double>(bytes));
  }
  model.seconds = dense.seconds;
  for (size_t b = 0; b < dense.buckets.size(); ++b) {
    const BucketCosts& whole = dense.buckets[b];
    const BucketCosts& part = compressed.buckets[b];
    const double gain = Work(whole) - Work(part) +
                        model.seconds_per_byte *
                            static_cast<double>(Bytes(whole) - Bytes(part));
    model.compressed.push_back(gain > 0);
    if (gain > 0) model.seconds -= gain;
  }
  return model;
}

}  // namespace ps
