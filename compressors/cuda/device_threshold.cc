#include "compressors/cuda/device_threshold.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/cuda/grid_runner.h"
#include "compressors/cuda/threshold_grid.h"
#include "tensor/cuda/sparse/cuda_sieve.h"
#include "tensor/cuda/sparse/sparse_rooms.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

absl::Status CheckRequest(const DeviceThresholdRequest& request) {
  if (request.n < 1 || request.capacity < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a threshold of ", request.n, " elements, of which ", request.capacity,
        " are left on the device; must be at least 1 each"));
  }
  const SampleRule& sample = request.sample;
  if (sample.k == 0) return absl::OkStatus();
  if (request.rule.kind != ThresholdRule::Kind::kFixed || sample.k < 0 ||
      sample.size < sample.k || sample.size > request.n) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", sample.k, " in a sample of ", sample.size, " of ", request.n,
        " elements; must be 1 to the sample's size, the sample at most all "
        "elements, and the rule's kind fixed"));
  }
  return absl::OkStatus();
}

class DeviceThresholdImpl final : public DeviceThreshold {
 public:
  explicit DeviceThresholdImpl(SparseWork* work) : work_(work), runner_(work) {}

  absl::Status Allocate() {
    return runner_.Allocate("the search for a threshold");
  }

  absl::Status Run(const DeviceThresholdRequest& request,
                   DeviceThresholdResult* result) override {
    PS_RETURN_IF_ERROR(CheckRequest(request));
    PS_RETURN_IF_ERROR(MakeRoom(request));
    PS_ASSIGN_OR_RETURN(
        const ThresholdState* const state,
        runner_.Run(Arguments(request), NumSparseChunks(request.n)));
    *result = DeviceThresholdResult();
    result->moments = MomentsOf(state->total);
    if (result->moments.num_non_finite > 0) return absl::OkStatus();
    result->threshold = state->steps.location();
    result->num_selected = state->num_selected;
    if (state->num_selected > request.capacity) return absl::OkStatus();
    result->selection = selected_.selection(state->num_selected);
    return absl::OkStatus();
  }

 private:
  absl::Status MakeRoom(const DeviceThresholdRequest& request) {
    const std::string what =
        absl::StrCat("the threshold of ", request.n, " elements");
    PS_RETURN_IF_ERROR(lists_.Reserve(work_, request.n, what));
    PS_RETURN_IF_ERROR(selected_.Reserve(work_, request.capacity, what));
    if (request.sample.k == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(marks_.Reserve(work_, NumMarkWords(request.n), what));
    PS_RETURN_IF_ERROR(sample_.Reserve(work_, request.sample.size, what));
    return histogram_.Reserve(work_, int64_t{kHistogramBins}, what);
  }

  ThresholdArguments Arguments(const DeviceThresholdRequest& request) const {
    ThresholdArguments arguments;
    arguments.input.residual = request.residual;
    arguments.input.gradient = request.gradient;
    arguments.input.u = request.u;
    arguments.input.n = request.n;
    arguments.input.lists = lists_.lists();
    arguments.rule = request.rule;
    arguments.sample_k = request.sample.k;
    arguments.sample.key = request.sample.key;
    arguments.sample.n = request.n;
    arguments.sample.k = request.sample.size;
    arguments.sample.marks = marks_.get();
    arguments.sample_values = sample_.get();
    arguments.histogram = histogram_.get();
    arguments.keep_above = request.keep_above;
    arguments.stats = work_->stats();
    arguments.bases = work_->bases();
    arguments.capacity = request.capacity;
    arguments.indices = selected_.indices();
    arguments.values = selected_.values();
    return arguments;
  }

  SparseWork* const work_;  // Not owned.
  GridRunner<ThresholdWork> runner_;
  ListRoom lists_;
  SelectionRoom selected_;
  DeviceRoom<uint32_t> marks_;  // This and the next two are for samples.
  DeviceRoom<float> sample_;
  DeviceRoom<unsigned long long> histogram_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceThreshold>> NewDeviceThreshold(
    SparseWork* work) {
  auto threshold = std::make_unique<DeviceThresholdImpl>(work);
  PS_RETURN_IF_ERROR(threshold->Allocate());
  return threshold;
}

}  // namespace ps
