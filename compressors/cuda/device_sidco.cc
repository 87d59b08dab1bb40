#include "compressors/cuda/device_sidco.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/cuda/grid_runner.h"
#include "compressors/cuda/sidco_grid.h"
#include "tensor/cuda/sparse/sparse_rooms.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

absl::Status CheckRequest(const DeviceSidcoRequest& request, int64_t n) {
  const EstimateRequest& estimate = request.estimate;
  if (request.n != n || estimate.stages < 1 ||
      estimate.stages > kMaxDeviceStages || request.num_known_steps < 0 ||
      request.num_known_steps > kMaxDeviceStages) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a vector of ", request.n, " elements and ", estimate.stages,
        " stages, ", request.num_known_steps, " of them known; must be ", n,
        " elements and 1 to ", kMaxDeviceStages, " stages"));
  }
  return absl::OkStatus();
}

SidcoTrace TraceOf(const SidcoPasses& passes) {
  SidcoTrace trace;
  for (int i = 0; i < passes.num_counted(); ++i) {
    trace.counted.push_back(passes.counted(i));
  }
  if (!passes.warm()) {
    std::vector<double> steps;
    for (int i = 0; i < passes.num_taken(); ++i) {
      steps.push_back(passes.taken(i));
    }
    trace.steps = std::move(steps);
  }
  trace.refine_reach = passes.steps().refine_reach();
  return trace;
}

ThresholdEstimate EstimateOf(const SidcoSteps& steps) {
  ThresholdEstimate estimate;
  estimate.threshold = steps.threshold();
  estimate.stages = steps.stages();
  estimate.stopped = steps.stopped();
  if (steps.refined()) estimate.estimated_count = steps.estimated_count();
  return estimate;
}

class DeviceSidcoImpl final : public DeviceSidco {
 public:
  DeviceSidcoImpl(int64_t n, int64_t capacity, SparseWork* work)
      : n_(n), capacity_(capacity), work_(work), runner_(work) {}

  absl::Status Allocate() {
    const std::string what = absl::StrCat("SIDCo of ", n_, " elements");
    PS_RETURN_IF_ERROR(lists_.Reserve(work_, n_, what, kMeasuredListCapacity));
    PS_RETURN_IF_ERROR(selected_.Reserve(work_, capacity_, what));
    return runner_.Allocate(what);
  }

  absl::Status Queue(const DeviceSidcoRequest& request, const float* residual,
                     const float* gradient, float* out) override {
    PS_RETURN_IF_ERROR(CheckRequest(request, n_));
    max_passes_ = SidcoPasses::MaxPasses(request);
    return runner_.Queue(Arguments(request, residual, gradient, out),
                         NumSparseChunks(n_));
  }

  DeviceSelection queued_selection() const override {
    return selected_.queued(&runner_.on_device()->num_left);
  }

  absl::Status Finish(DeviceSidcoResult* result) override {
    const SidcoState& state = runner_.on_host();
    const SidcoPasses& passes = state.passes;
    if (!passes.done()) {
      return absl::InternalError(absl::StrCat("SIDCo did not finish in ",
                                              max_passes_, " passes over ", n_,
                                              " elements"));
    }
    *result = DeviceSidcoResult();
    result->outcome = passes.outcome();
    result->moments = passes.moments();
    if (result->outcome != SidcoOutcome::kEstimated) return absl::OkStatus();
    result->warm = passes.warm();
    result->estimate = EstimateOf(passes.steps());
    result->trace = TraceOf(passes);
    result->num_selected = passes.num_selected();
    result->selection = selected_.selection(state.num_left);
    return absl::OkStatus();
  }

  absl::Status Run(const DeviceSidcoRequest& request, const float* residual,
                   const float* gradient, float* out,
                   DeviceSidcoResult* result) override {
    PS_RETURN_IF_ERROR(Queue(request, residual, gradient, out));
    PS_RETURN_IF_ERROR(work_->streams().Await(work_->stream()));
    return Finish(result);
  }

 private:
  SidcoArguments Arguments(const DeviceSidcoRequest& request,
                           const float* residual, const float* gradient,
                           float* out) const {
    SidcoArguments arguments;
    arguments.request = request;
    SparseInput& input = arguments.sift.input;
    input.residual = residual;
    input.gradient = gradient;
    input.u = out;
    input.n = n_;
    input.lists = lists_.lists();
    arguments.sift.made = input.lists;
    arguments.sift.stats = work_->stats();
    arguments.bases = work_->bases();
    arguments.capacity = capacity_;
    arguments.indices = selected_.indices();
    arguments.values = selected_.values();
    return arguments;
  }

  const int64_t n_;
  const int64_t capacity_;
  SparseWork* const work_;  // Not owned.
  GridRunner<SidcoWork> runner_;
  ListRoom lists_;
  SelectionRoom selected_;
  int max_passes_ = 0;  // Of the queued request.
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceSidco>> NewDeviceSidco(int64_t n,
                                                            int64_t capacity,
                                                            SparseWork* work) {
  if (n < 1 || capacity < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("SIDCo of ", n, " elements, of which ", capacity,
                     " are left on the device; must be at least 1 each"));
  }
  auto sidco = std::make_unique<DeviceSidcoImpl>(n, capacity, work);
  PS_RETURN_IF_ERROR(sidco->Allocate());
  return sidco;
}

}  // namespace ps
