// Divides the flat gradient into buckets.
#ifndef WORKER_BUCKET_PLAN_H_
#define WORKER_BUCKET_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/config.pb.h"
#include "tensor/parameter_info.h"
#include "transport/shard_map.h"

namespace ps {

// Elements [begin, end) of the flat vector.
struct Bucket {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

// Elements up to `end`, from the end of the stretch before.
struct RateStretch {
  int64_t end = 0;
  double rate = 1;
};

// Returns the parameters' elements, with equal rates of neighbours joined.
std::vector<RateStretch> RateStretches(
    const std::vector<ParameterInfo>& parameters,
    absl::Span<const double> rates);

// Cuts the gradient at parameter boundaries, starting with the last parameter,
// because the backward pass finishes parameters in that order: bucket 0 is
// complete first. A bucket ends as soon as it holds at least `bucket_bytes` of
// fp32 values (0: one bucket), and before a parameter whose rate is 0: no
// bucket has its elements. `rates` are those of LayerRates.
std::vector<Bucket> PlanBuckets(const std::vector<ParameterInfo>& parameters,
                                absl::Span<const double> rates,
                                double bucket_bytes);

// Returns the number of elements in all buckets: of trained parameters.
int64_t NumTrained(const std::vector<Bucket>& buckets);

// Returns the sizes of the buckets that follow those of the gradient, and whose
// pushes the servers average: one for the model's statistics, if there are any,
// and one of a single element in which workers agree to end
// (training.early_stopping).
std::vector<int64_t> AveragedBuckets(const TrainingConfig& training,
                                     int64_t num_statistics);

// Returns the slices of all these buckets. Errors: those of ShardMap::Create.
absl::StatusOr<ShardMap> PlanShards(const JobConfig& config,
                                    const std::vector<Bucket>& buckets,
                                    const std::vector<int64_t>& averaged);

}  // namespace ps

#endif  // WORKER_BUCKET_PLAN_H_
