#include "compressors/cuda/device_random_k.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/cuda/grid_runner.h"
#include "compressors/cuda/random_k_grid.h"
#include "tensor/cuda/sparse/cuda_sieve.h"
#include "tensor/cuda/sparse/sparse_rooms.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

class DeviceRandomKImpl final : public DeviceRandomK {
 public:
  explicit DeviceRandomKImpl(SparseWork* work) : work_(work), runner_(work) {}

  absl::Status Allocate() { return runner_.Allocate("elements at random"); }

  absl::Status Run(const DeviceRandomKRequest& request,
                   DeviceRandomKResult* result) override {
    if (request.n < 1 || request.k < 1 || request.k > request.n) {
      return absl::InvalidArgumentError(
          absl::StrCat(request.k, " of ", request.n,
                       " elements at random; must be at least 1 each, and not "
                       "more than there are"));
    }
    const std::string what =
        absl::StrCat(request.k, " of ", request.n, " elements at random");
    PS_RETURN_IF_ERROR(marks_.Reserve(work_, NumMarkWords(request.n), what));
    PS_RETURN_IF_ERROR(selected_.Reserve(work_, request.k, what));
    RandomKArguments arguments;
    arguments.input.residual = request.residual;
    arguments.input.gradient = request.gradient;
    arguments.input.u = request.u;
    arguments.input.n = request.n;
    arguments.draw.key = request.key;
    arguments.draw.n = request.n;
    arguments.draw.k = request.k;
    arguments.draw.marks = marks_.get();
    arguments.stats = work_->stats();
    arguments.bases = work_->bases();
    arguments.indices = selected_.indices();
    arguments.values = selected_.values();
    PS_ASSIGN_OR_RETURN(const RandomKState* const state,
                        runner_.Run(arguments, NumSparseChunks(request.n)));
    *result = DeviceRandomKResult();
    result->moments = MomentsOf(state->total);
    if (result->moments.num_non_finite > 0) return absl::OkStatus();
    result->selection = selected_.selection(request.k);
    return absl::OkStatus();
  }

 private:
  SparseWork* const work_;  // Not owned.
  GridRunner<RandomKWork> runner_;
  DeviceRoom<uint32_t> marks_;
  SelectionRoom selected_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceRandomK>> NewDeviceRandomK(
    SparseWork* work) {
  auto random_k = std::make_unique<DeviceRandomKImpl>(work);
  PS_RETURN_IF_ERROR(random_k->Allocate());
  return random_k;
}

}  // namespace ps
