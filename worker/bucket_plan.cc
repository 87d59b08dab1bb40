#include "worker/bucket_plan.h"

#include <cstddef>

#include "common/slice_elements.h"
#include "tensor/tensor.h"

namespace ps {

std::vector<RateStretch> RateStretches(
    const std::vector<ParameterInfo>& parameters,
    absl::Span<const double> rates) {
  std::vector<RateStretch> stretches;
  for (size_t p = 0; p < parameters.size(); ++p) {
    const double rate = rates.empty() ? 1 : rates[p];
    if (stretches.empty() || stretches.back().rate != rate) {
      stretches.push_back({0, rate});
    }
    stretches.back().end =
        parameters[p].offset + NumElements(parameters[p].shape);
  }
  return stretches;
}

std::vector<Bucket> PlanBuckets(const std::vector<ParameterInfo>& parameters,
                                absl::Span<const double> rates,
                                double bucket_bytes) {
  std::vector<Bucket> buckets;
  Bucket bucket;
  const auto end_bucket = [&] {
    if (bucket.size() > 0) buckets.push_back(bucket);
    bucket = {};
  };
  for (size_t p = parameters.size(); p-- > 0;) {
    const ParameterInfo& parameter = parameters[p];
    if (!rates.empty() && rates[p] == 0) {
      end_bucket();
      continue;
    }
    if (bucket.size() == 0) {
      bucket.end = parameter.offset + NumElements(parameter.shape);
    }
    bucket.begin = parameter.offset;
    if (bucket_bytes > 0 &&
        static_cast<double>(bucket.size()) * sizeof(float) >= bucket_bytes) {
      end_bucket();
    }
  }
  end_bucket();
  return buckets;
}

int64_t NumTrained(const std::vector<Bucket>& buckets) {
  int64_t elements = 0;
  for (const Bucket& bucket : buckets) elements += bucket.size();
  return elements;
}

std::vector<int64_t> AveragedBuckets(const TrainingConfig& training,
                                     int64_t num_statistics) {
  std::vector<int64_t> sizes;
  if (num_statistics > 0) sizes.push_back(num_statistics);
  if (training.early_stopping().patience() > 0) sizes.push_back(1);
  return sizes;
}

absl::StatusOr<ShardMap> PlanShards(const JobConfig& config,
                                    const std::vector<Bucket>& buckets,
                                    const std::vector<int64_t>& averaged) {
  ShardMapOptions map;
  for (const Bucket& bucket : buckets) {
    map.bucket_sizes.push_back(bucket.size());
  }
  map.bucket_sizes.insert(map.bucket_sizes.end(), averaged.begin(),
                          averaged.end());
  map.num_averaged_buckets = static_cast<int64_t>(averaged.size());
  map.num_servers = config.cluster().num_servers();
  map.max_slice_elements = MaxSliceElements(config);
  return ShardMap::Create(map);
}

}  // namespace ps
