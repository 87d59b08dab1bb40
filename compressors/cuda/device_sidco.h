// SIDCo's estimate and selection in one go on a device: everything is queued at
// once, and the host waits only for the end of it.
//
// Includes CUDA's headers: only for libraries that exist where there is a
// toolkit.
#ifndef COMPRESSORS_CUDA_DEVICE_SIDCO_H_
#define COMPRESSORS_CUDA_DEVICE_SIDCO_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/cuda/sidco_passes.h"
#include "tensor/cuda/sparse/sparse_work.h"
#include "tensor/sparse_kernels.h"

namespace ps {

struct DeviceSidcoResult {
  SidcoOutcome outcome = SidcoOutcome::kUnknown;
  Moments moments;  // Without sums after a warm start.
  // If kEstimated: as ThresholdEstimate, and what is above the threshold.
  bool warm = false;
  float threshold = 0;
  int stages = 0;
  bool stopped = false;
  bool refined = false;
  int64_t estimated_count = 0;  // If refined.
  Selection selection;
  // For the next vector.
  std::vector<CountedPlace> counted;
  std::vector<double> steps;  // Of a cold estimate.
  double refine_reach = 1;
};

// The thresholds are the CPU's, but for the last bits of the device's
// logarithms and powers, which a rounding to float hides, all but never. One
// thread at a time.
class DeviceSidco {
 public:
  // For vectors of n elements, at least 1. `work` is not owned and outlives
  // this. Takes 0.75 n bytes of the device for lists, and 8 bytes for each of
  // the `max_selected` elements that cross the bus at a time. Errors:
  // kInvalidArgument, kResourceExhausted.
  static absl::StatusOr<std::unique_ptr<DeviceSidco>> Create(
      int64_t n, int64_t max_selected, SparseWork* work);

  // out = residual + gradient, all in the device's memory, and what SIDCo
  // selects of it. request.n is n. `out` overlaps neither input.
  absl::Status Run(const DeviceSidcoRequest& request, const float* residual,
                   const float* gradient, float* out,
                   DeviceSidcoResult* result);

 private:
  // What the host writes and reads.
  struct HostScratch {
    SidcoPasses passes;
    int64_t count;
  };

  DeviceSidco(int64_t n, int64_t max_selected, SparseWork* work)
      : n_(n), max_selected_(max_selected), work_(work) {}

  // All that comes before the host waits.
  absl::Status QueuePasses(const DeviceSidcoRequest& request,
                           const SiftArguments& arguments);
  absl::Status FetchSelection(int64_t count, const SparseInput& input,
                              Selection* selection);

  const int64_t n_;
  const int64_t max_selected_;
  SparseWork* const work_;               // Not owned.
  std::shared_ptr<SidcoPasses> passes_;  // The device's.
  std::shared_ptr<uint16_t> offsets_;
  std::shared_ptr<float> values_;
  std::shared_ptr<uint32_t> sizes_;
  KeptLists lists_;                             // In these three.
  std::shared_ptr<uint32_t> selected_indices_;  // [max_selected]
  std::shared_ptr<float> selected_values_;      // [max_selected]
  std::shared_ptr<void> pinned_;
  HostScratch* host_ = nullptr;       // In pinned_,
  uint32_t* host_indices_ = nullptr;  // and these after it.
  float* host_values_ = nullptr;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_SIDCO_H_
