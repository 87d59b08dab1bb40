// The k largest magnitudes of a vector; of equal ones those with the lower
// index.
//
// The pass that forms the sum lists what is above a guess. If that is at least
// k, the rest reads lists only.
#include "absl/strings/str_cat.h"
#include "compressors/cuda/rank.h"
#include "compressors/cuda/search_room.h"

namespace ps {
namespace {

struct TopKState {
  PassTotals sum;  // If it was formed.
  Cut cut;
};

struct TopKArguments {
  PassVector vector;
  int64_t k = 0;
  float keep_above = HUGE_VALF;
  KeptLists lists;
  SelectionOut out;
  TopKState* state = nullptr;
  GridScratch* scratch = nullptr;
};

__global__ void __launch_bounds__(kPassThreads, kPassBlocksEach)
    TopKKernel(const __grid_constant__ TopKArguments a) {
  PS_SHARED_MEMORY(PassShared, shared);
  __shared__ RankShared rank;
  Grid grid(a.scratch, shared);
  ClearHistograms(grid);
  PassVector vector = a.vector;
  const KeptLists* lists = nullptr;
  if (vector.residual != nullptr) {
    PassGoal goal;
    goal.extrema = true;
    goal.keep = a.keep_above < HUGE_VALF;
    goal.cut = goal.kept = CutAbove(a.keep_above);
    Measure(vector, nullptr, goal, a.lists, grid);
    if (blockIdx.x == 0) CopyByBlock(shared->total, &a.state->sum);
    if (shared->total.num_non_finite > 0) return;
    if (goal.keep && shared->total.count() >= a.k) lists = &a.lists;
    vector.residual = nullptr;
  } else {
    grid.Sync();
  }
  PassGoal goal;
  goal.cut = FindRank(vector, lists, a.k, grid, &rank);
  if (grid.thread() == 0) a.state->cut = goal.cut;
  Measure(vector, lists, goal, a.lists, grid);
  SelectTo(a.out, a.k, vector, lists, goal.cut, grid);
}

class TopKSearch final : public DeviceSearch<DeviceTopKRequest> {
 public:
  explicit TopKSearch(SparseWork* work) : room_(work) {}

  absl::Status Run(const DeviceTopKRequest& request,
                   DeviceResult* result) override {
    const int64_t n = request.sum.n;
    const std::string what =
        absl::StrCat("the ", request.k, " largest of ", n, " elements");
    if (n < 1 || request.k < 1 || request.k > n) {
      return absl::InvalidArgumentError(absl::StrCat(
          what, "; must be at least 1 each, and not more than there are"));
    }
    const bool lists =
        request.sum.residual != nullptr && std::isfinite(request.keep_above);
    PS_RETURN_IF_ERROR(
        room_.Reserve(what, lists ? n : 0, request.k, request.k));
    TopKArguments arguments;
    arguments.vector = VectorOf(request.sum);
    arguments.k = request.k;
    arguments.keep_above = request.keep_above;
    PS_RETURN_IF_ERROR(room_.Run(TopKKernel, n, arguments));
    *result = DeviceResult();
    const TopKState& state = room_.state();
    if (request.sum.residual != nullptr) {
      result->moments = MomentsOf(state.sum);
      if (result->moments.num_non_finite > 0) return absl::OkStatus();
    }
    result->threshold = MagnitudeFromBits(state.cut.low);
    result->num_selected = request.k;
    PS_ASSIGN_OR_RETURN(result->selection, room_.Take(request.k));
    return absl::OkStatus();
  }

 private:
  SearchRoom<TopKState> room_;
};

}  // namespace

PS_REGISTER_ON_DEVICE(DeviceSearch<DeviceTopKRequest>, TopKSearch);

}  // namespace ps
