#include "worker/local_steps.h"

#include <utility>

#include "common/status_macros.h"

namespace ps {

absl::StatusOr<std::unique_ptr<LocalSteps>> LocalSteps::Create(
    int64_t num_parameters, Backend* backend) {
  PS_ASSIGN_OR_RETURN(Tensor sum, backend->Allocate({num_parameters}));
  return std::unique_ptr<LocalSteps>(new LocalSteps(backend, std::move(sum)));
}

absl::Status LocalSteps::Step(const Tensor& gradient, double rate,
                              Tensor* weights) {
  VectorKernels& kernels = backend_->vectors();
  const int64_t n = sum_.size();
  PS_RETURN_IF_ERROR(kernels.AddScaled(
      {weights->data(), 1}, {gradient.data(), -static_cast<float>(rate)}, n,
      weights->data()));
  if (empty_) {
    empty_ = false;
    return kernels.Scale({gradient.data(), 1}, n, sum_.data());
  }
  return kernels.AddScaled({sum_.data(), 1}, {gradient.data(), 1}, n,
                           sum_.data());
}

absl::Status LocalSteps::AddTo(int64_t begin, int64_t end, Tensor* gradient) {
  if (empty_) return absl::OkStatus();
  float* const values = gradient->data() + begin;
  return backend_->vectors().AddScaled({sum_.data() + begin, 1}, {values, 1},
                                       end - begin, values);
}

absl::Status LocalSteps::NextRound(const Tensor& from_servers,
                                   Tensor* weights) {
  empty_ = true;
  return backend_->vectors().Scale({from_servers.data(), 1}, weights->size(),
                                   weights->data());
}

}  // namespace ps
