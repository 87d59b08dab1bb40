#include "tools/bench/compressors/delta_mode_cost.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/status_macros.h"
#include "tools/bench/compressors/stopwatch.h"

namespace ps {
namespace {

constexpr int64_t kSlice = int64_t{1} << 20;  // cluster.max_slice_elements

}  // namespace

absl::StatusOr<std::unique_ptr<DeltaModeCost>> DeltaModeCost::Create(
    const std::string& optimizer, int64_t num_elements, Backend* backend) {
  auto cost = std::unique_ptr<DeltaModeCost>(new DeltaModeCost);
  cost->backend_ = backend;
  cost->job_.mutable_worker_optimizer()->set_name(optimizer);
  WorkerWeightsOptions options;
  options.config = &cost->job_;
  options.num_parameters = num_elements;
  options.total_iterations = std::numeric_limits<int64_t>::max();
  options.backend = backend;
  PS_ASSIGN_OR_RETURN(cost->weights_, WorkerWeights::Create(options));
  PS_ASSIGN_OR_RETURN(cost->servers_, backend->Allocate({num_elements}));
  PS_ASSIGN_OR_RETURN(cost->step_, backend->Allocate({num_elements}));
  return cost;
}

absl::Status DeltaModeCost::Step(const Tensor& gradient) {
  PS_RETURN_IF_ERROR(backend_->sparse().AddScaled(
      {gradient.data(), 1}, {gradient.data(), 0}, step_.size(), step_.data()));
  weights_->Begin(iteration_++);
  absl::Status status = Await();
  step_times_.push_back(Milliseconds([&] {
    status.Update(weights_->Step(0, step_.size(), &step_));
    status.Update(Await());
  }));
  return status;
}

absl::Status DeltaModeCost::Await() {
  // A copy to the host runs after all work that was queued before it.
  float last;
  return backend_->CopyToHost(step_.Slice(0, 1), &last);
}

absl::Status DeltaModeCost::Follow(const Selection& answer,
                                   const Tensor& residual) {
  const bool all = static_cast<int64_t>(answer.values.size()) == step_.size();
  if (all || backend_->sparse().device_work() != nullptr) {
    absl::Status status = Await();
    follow_times_.push_back(Milliseconds([&] {
      status.Update(weights_->Follow(0, servers_, residual));
      status.Update(Await());
    }));
    return status;
  }
  // As in training, slice by slice, each after the answer has been written.
  double milliseconds = 0;
  auto first = answer.indices.begin();
  for (int64_t begin = 0; begin < step_.size(); begin += kSlice) {
    const int64_t end = std::min(begin + kSlice, step_.size());
    Selection slice;
    for (; first != answer.indices.end() && *first < end; ++first) {
      slice.indices.push_back(*first - static_cast<uint32_t>(begin));
      slice.values.push_back(answer.values[first - answer.indices.begin()]);
    }
    Tensor x = servers_.Slice(begin, end);
    const Tensor e = residual.Slice(begin, end);
    PS_RETURN_IF_ERROR(backend_->sparse().AddAt(slice, x.data()));
    milliseconds +=
        Milliseconds([&] { weights_->FollowAt(slice.indices, begin, x, e); });
  }
  follow_times_.push_back(milliseconds);
  return absl::OkStatus();
}

}  // namespace ps
