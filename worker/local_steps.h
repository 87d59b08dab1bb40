// What a worker does between two pushes: steps of plain SGD on its own.
#ifndef WORKER_LOCAL_STEPS_H_
#define WORKER_LOCAL_STEPS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// Stich, "Local SGD converges fast and communicates little", ICLR 2019: with
// the servers' "sgd" at the same rate the new weights are the mean of those
// that the workers have come to. Not thread-safe.
class LocalSteps {
 public:
  // Takes another vector of num_parameters.
  static absl::StatusOr<std::unique_ptr<LocalSteps>> Create(
      int64_t num_parameters, Backend* backend);

  // weights -= rate x gradient; the gradient is added to those of this round.
  absl::Status Step(const Tensor& gradient, double rate, Tensor* weights);

  // Adds elements [begin, end) of this round's gradients to *gradient.
  absl::Status AddTo(int64_t begin, int64_t end, Tensor* gradient);

  // A new round begins with the servers' weights, which are copied.
  absl::Status NextRound(const Tensor& from_servers, Tensor* weights);

 private:
  LocalSteps(Backend* backend, Tensor sum)
      : backend_(backend), sum_(std::move(sum)) {}

  Backend* const backend_;  // Not owned.
  Tensor sum_;              // [num_parameters], of this round's gradients.
  bool empty_ = true;       // Nothing has been added.
};

}  // namespace ps

#endif  // WORKER_LOCAL_STEPS_H_
