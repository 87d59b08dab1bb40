// What delta mode adds to a worker's compression: the optimizer's step, and
// following the servers' answer (worker/worker_weights.h).
#ifndef TOOLS_BENCH_COMPRESSORS_DELTA_MODE_COST_H_
#define TOOLS_BENCH_COMPRESSORS_DELTA_MODE_COST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "tensor/sparse_kernels.h"
#include "tensor/tensor.h"
#include "worker/worker_weights.h"

namespace ps {

// Not thread-safe. Each round: Step, then compression, then Follow.
class DeltaModeCost {
 public:
  // `optimizer` is a rule that worker_optimizer may name. `backend` is not
  // owned and outlives this.
  static absl::StatusOr<std::unique_ptr<DeltaModeCost>> Create(
      const std::string& optimizer, int64_t num_elements, Backend* backend);

  // Turns a gradient into the optimizer's step, which replaces it.
  absl::Status Step(const Tensor& gradient);
  const Tensor& step() const { return step_; }

  // Follows an answer that changes these elements, as when workers send the
  // same ones.
  absl::Status Follow(const Selection& answer, const Tensor& residual);

  // Of all rounds so far.
  const std::vector<double>& step_milliseconds() const { return step_times_; }
  const std::vector<double>& follow_milliseconds() const {
    return follow_times_;
  }

 private:
  DeltaModeCost() = default;
  absl::Status Await();

  JobConfig job_;
  Backend* backend_ = nullptr;
  std::unique_ptr<WorkerWeights> weights_;
  Tensor servers_;  // x: [num_elements]
  Tensor step_;     // [num_elements]
  int64_t iteration_ = 0;
  std::vector<double> step_times_;
  std::vector<double> follow_times_;
};

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_DELTA_MODE_COST_H_
