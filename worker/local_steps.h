// The steps of plain SGD that a worker takes by itself between two pushes.
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

// Stich, "Local SGD converges fast and communicates little", ICLR 2019. With
// optimizer "sgd" and the same learning rate at the servers, the new weights
// are the mean of the workers' weights. Not thread-safe.
class LocalSteps {
 public:
  // Allocates one vector of num_parameters.
  static absl::StatusOr<std::unique_ptr<LocalSteps>> Create(
      int64_t num_parameters, Backend* backend);

  // weights -= rate x gradient. Also adds the gradient to this round's sum.
  absl::Status Step(const Tensor& gradient, double rate, Tensor* weights);

  // Adds elements [begin, end) of this round's gradients to *gradient.
  absl::Status AddTo(int64_t begin, int64_t end, Tensor* gradient);

  // Begins a new round with a copy of the servers' weights.
  absl::Status NextRound(const Tensor& from_servers, Tensor* weights);

 private:
  LocalSteps(Backend* backend, Tensor sum)
      : backend_(backend), sum_(std::move(sum)) {}

  Backend* const backend_;  // Not owned.
  Tensor sum_;              // [num_parameters], this round's gradients.
  bool empty_ = true;       // Nothing has been added to sum_.
};

}  // namespace ps

#endif  // WORKER_LOCAL_STEPS_H_
