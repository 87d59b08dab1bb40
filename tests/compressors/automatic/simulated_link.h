// Simulates iterations over a link, without tensors or clocks.
#ifndef TESTS_COMPRESSORS_AUTOMATIC_SIMULATED_LINK_H_
#define TESTS_COMPRESSORS_AUTOMATIC_SIMULATED_LINK_H_

#include <cstdint>
#include <random>
#include <vector>

#include "compressors/automatic/exchange_costs.h"

namespace ps {

struct SimulatedBucket {
  int64_t dense_bytes = 0;
  int64_t compressed_bytes = 0;
  // Seconds of work on the worker and the servers.
  double dense_work = 0;
  double compressed_work = 0;
};

struct SimulatedJob {
  double compute = 0;  // Seconds of an iteration.
  std::vector<SimulatedBucket> buckets;
  double bytes_per_second = 0;  // Up and down.
  // An iteration takes up to this share more or less, uniformly distributed.
  double noise = 0;
  // The first iteration after each switch takes this many times as long.
  double switch_factor = 1;
};

// The costs of a simulated job's iterations.
class SimulatedLink {
 public:
  SimulatedLink(const SimulatedJob& job, uint64_t seed)
      : job_(job), random_(seed) {}

  SimulatedJob& job() { return job_; }

  // Without noise.
  ExchangeCosts Costs(const std::vector<bool>& compressed) const {
    ExchangeCosts costs;
    costs.seconds = job_.compute;
    for (size_t b = 0; b < job_.buckets.size(); ++b) {
      const SimulatedBucket& bucket = job_.buckets[b];
      BucketCosts each;
      const int64_t bytes =
          compressed[b] ? bucket.compressed_bytes : bucket.dense_bytes;
      const double work =
          compressed[b] ? bucket.compressed_work : bucket.dense_work;
      each.bytes_up = bytes / 2;
      each.bytes_down = bytes - bytes / 2;
      each.codec = 0.75 * work;
      each.server = 0.25 * work;
      each.link = static_cast<double>(bytes) / job_.bytes_per_second;
      costs.seconds += work + each.link;
      costs.buckets.push_back(each);
    }
    return costs;
  }

  ExchangeCosts Iteration(const std::vector<bool>& compressed) {
    ExchangeCosts costs = Costs(compressed);
    std::uniform_real_distribution<double> noise(1 - job_.noise,
                                                 1 + job_.noise);
    costs.seconds *= noise(random_);
    for (BucketCosts& bucket : costs.buckets) {
      bucket.codec *= noise(random_);
      bucket.server *= noise(random_);
      bucket.link *= noise(random_);
    }
    if (!last_.empty() && compressed != last_) {
      costs.seconds *= job_.switch_factor;
    }
    last_ = compressed;
    return costs;
  }

 private:
  SimulatedJob job_;
  std::mt19937_64 random_;
  std::vector<bool> last_;
};

}  // namespace ps

#endif  // TESTS_COMPRESSORS_AUTOMATIC_SIMULATED_LINK_H_
