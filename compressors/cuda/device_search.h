// What selectors ask of a device: to form the vector, search it, and leave what
// it selects, in one launch.
//
// The promise. A device selects the elements that the CPU selects, except for
// those within rounding of the threshold, since sums and logarithms differ in
// the last bits of a double; counts, extrema, draws, ties (lower index first)
// and exact top-k are the CPU's. What is sent and what is kept add up to
// residual + gradient exactly, as on the CPU. The same device, build and seed
// give the same bits. Payloads are made by the host's encoders, so that a
// server cannot tell. (//tests/compressors/cuda)
#ifndef COMPRESSORS_CUDA_DEVICE_SEARCH_H_
#define COMPRESSORS_CUDA_DEVICE_SEARCH_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "compressors/selectors/threshold_search.h"
#include "tensor/device_selection.h"
#include "tensor/moments.h"
#include "tensor/on_device.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// A search for one kind of request. For use by one thread at a time.
template <class Request>
class DeviceSearch {
 public:
  virtual ~DeviceSearch() = default;

  // Searches and waits for the result; a selection is valid until the next Run.
  // Allocates memory, on the device and pinned on the host, when a request
  // needs more than those before it. Errors: kInvalidArgument,
  // kResourceExhausted, or CUDA errors.
  virtual absl::Status Run(const Request& request,
                           typename Request::Result* result) = 0;
};

// Creates *search on first use, and runs it.
template <class Request>
absl::Status SearchOnDevice(const Request& request, SparseWork* work,
                            std::unique_ptr<DeviceSearch<Request>>* search,
                            typename Request::Result* result) {
  if (*search == nullptr) *search = NewOnDevice<DeviceSearch<Request>>(work);
  return (*search)->Run(request, result);
}

// The vector to search, in device memory.
struct DeviceSum {
  // If not null, u is first set to residual + gradient, which u must not
  // overlap.
  const float* residual = nullptr;
  const float* gradient = nullptr;
  float* u = nullptr;
  int64_t n = 0;  // At least 1.
};

struct DeviceResult {
  // Of u; only if it was formed, and the sums only if they were needed.
  Moments moments;
  // The rest is valid if all elements are finite.
  float threshold = 0;
  int64_t num_selected = 0;
  // Null if more than the capacity are selected.
  DeviceSelection* selection = nullptr;
};

// The k largest magnitudes; of equal ones those with the lower index. The
// threshold is the smallest of them.
struct DeviceTopKRequest {
  using Result = DeviceResult;

  DeviceSum sum;  // If it is not formed, all elements must be finite.
  int64_t k = 0;  // In [1, n].
  // A guess of a threshold that more than k elements of the sum exceed; affects
  // speed only. Infinity means no guess.
  float keep_above = std::numeric_limits<float>::infinity();
};

// k random elements of the sum, as DrawSubset draws them.
struct DeviceRandomKRequest {
  using Result = DeviceResult;

  DeviceSum sum;     // To be formed.
  int64_t k = 0;     // In [1, n].
  uint64_t key = 0;  // The key of DrawSubset's random stream.
};

// The threshold is the k-th largest magnitude of a sample drawn by DrawSubset.
struct SampleRule {
  uint64_t key = 0;
  int64_t size = 0;  // In [1, n].
  int64_t k = 0;     // In [1, size]; 0: there is no sample.
};

// What is above a threshold that the device finds.
struct DeviceThresholdRequest {
  using Result = DeviceResult;

  DeviceSum sum;  // To be formed; of at least 2 elements for a normal law.
  ThresholdRule rule;
  SampleRule sample;  // Replaces rule.threshold; the rule is kFixed.
  // A guess of the lowest threshold that will be tried; affects speed only.
  // Infinity means no guess.
  float keep_above = std::numeric_limits<float>::infinity();
  int64_t capacity = 0;  // At least 1.
  int64_t likely_count = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_SEARCH_H_
