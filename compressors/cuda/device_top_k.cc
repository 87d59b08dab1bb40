#include "compressors/cuda/device_top_k.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/cuda/grid_runner.h"
#include "compressors/cuda/top_k_grid.h"
#include "tensor/cuda/sparse/cuda_sieve.h"
#include "tensor/cuda/sparse/sparse_rooms.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

class DeviceTopKImpl final : public DeviceTopK {
 public:
  explicit DeviceTopKImpl(SparseWork* work) : work_(work), runner_(work) {}

  absl::Status Allocate() {
    const char* const what = "the search for the largest magnitudes";
    PS_RETURN_IF_ERROR(
        histogram_.Reserve(work_, int64_t{kHistogramBins}, what));
    return runner_.Allocate(what);
  }

  absl::Status Run(const DeviceTopKRequest& request,
                   DeviceTopKResult* result) override {
    if (request.n < 1 || request.k < 1 || request.k > request.n) {
      return absl::InvalidArgumentError(
          absl::StrCat("the ", request.k, " largest of ", request.n,
                       " elements; must be at least 1 each, and not more than "
                       "there are"));
    }
    const bool forms = request.residual != nullptr;
    const bool lists = forms && std::isfinite(request.keep_above);
    PS_RETURN_IF_ERROR(MakeRoom(request, lists));
    TopKArguments arguments;
    arguments.input.residual = request.residual;
    arguments.input.gradient = request.gradient;
    arguments.input.u = request.u;
    arguments.input.n = request.n;
    arguments.input.lists = lists_.lists();
    arguments.k = request.k;
    if (lists) arguments.keep_above = request.keep_above;
    arguments.stats = work_->stats();
    arguments.bases = work_->bases();
    arguments.histogram = histogram_.get();
    arguments.indices = selected_.indices();
    arguments.values = selected_.values();
    PS_ASSIGN_OR_RETURN(const TopKState* const left,
                        runner_.Run(arguments, NumSparseChunks(request.n)));
    const TopKState& state = *left;
    *result = DeviceTopKResult();
    if (forms) result->moments = MomentsOf(state.total);
    if (result->moments.num_non_finite > 0) return absl::OkStatus();
    if (state.num_selected != request.k) {
      return absl::InternalError(
          absl::StrCat("of the ", request.k, " largest of ", request.n,
                       " elements, ", state.num_selected, " were selected"));
    }
    result->selection = selected_.selection(request.k);
    result->threshold = MagnitudeFromBits(state.rank.low);
    return absl::OkStatus();
  }

 private:
  absl::Status MakeRoom(const DeviceTopKRequest& request, bool lists) {
    const std::string what =
        absl::StrCat("the ", request.k, " largest of ", request.n, " elements");
    if (lists) PS_RETURN_IF_ERROR(lists_.Reserve(work_, request.n, what));
    return selected_.Reserve(work_, request.k, what);
  }

  SparseWork* const work_;  // Not owned.
  GridRunner<TopKWork> runner_;
  DeviceRoom<unsigned long long> histogram_;  // [kHistogramBins]
  ListRoom lists_;
  SelectionRoom selected_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceTopK>> NewDeviceTopK(SparseWork* work) {
  auto top_k = std::make_unique<DeviceTopKImpl>(work);
  PS_RETURN_IF_ERROR(top_k->Allocate());
  return top_k;
}

}  // namespace ps
