// Random elements of a sum.
#include "absl/strings/str_cat.h"
#include "compressors/cuda/search_room.h"
#include "compressors/cuda/subset.h"

namespace ps {
namespace {

struct RandomKArguments {
  PassVector vector;
  SubsetDraw draw;
  KeptLists lists;  // Not used.
  SelectionOut out;
  PassTotals* state = nullptr;  // The sum's.
  GridScratch* scratch = nullptr;
};

__global__ void __launch_bounds__(kPassThreads, kPassBlocksEach)
    RandomKKernel(const __grid_constant__ RandomKArguments a) {
  PS_SHARED_MEMORY(PassShared, shared);
  Grid grid(a.scratch, shared);
  PassGoal goal;
  goal.extrema = true;
  Measure(a.vector, nullptr, goal, a.lists, grid);
  if (blockIdx.x == 0) CopyByBlock(shared->total, a.state);
  if (shared->total.num_non_finite > 0) return;
  MarkSubset(a.draw, grid);
  ForSubset(a.draw, grid, [&](int64_t rank, uint32_t index) {
    a.out.indices[rank] = index;
    a.out.values[rank] = a.vector.u[index];
  });
  CopyToHost(a.out, a.draw.k, grid);
}

class RandomKSearch final : public DeviceSearch<DeviceRandomKRequest> {
 public:
  explicit RandomKSearch(SparseWork* work) : room_(work) {}

  absl::Status Run(const DeviceRandomKRequest& request,
                   DeviceResult* result) override {
    const int64_t n = request.sum.n;
    const std::string what = absl::StrCat(request.k, " of ", n, " elements");
    if (n < 1 || request.k < 1 || request.k > n) {
      return absl::InvalidArgumentError(absl::StrCat(
          what, "; must be at least 1 each, and not more than there are"));
    }
    PS_RETURN_IF_ERROR(room_.Reserve(what, /*n=*/0, request.k, request.k));
    PS_RETURN_IF_ERROR(marks_.Reserve(room_.work(), NumMarkWords(n), what));
    RandomKArguments arguments;
    arguments.vector = VectorOf(request.sum);
    arguments.draw.key = request.key;
    arguments.draw.n = n;
    arguments.draw.k = request.k;
    arguments.draw.marks = marks_.get();
    PS_RETURN_IF_ERROR(room_.Run(RandomKKernel, n, arguments));
    *result = DeviceResult();
    result->moments = MomentsOf(room_.state());
    if (result->moments.num_non_finite > 0) return absl::OkStatus();
    result->num_selected = request.k;
    PS_ASSIGN_OR_RETURN(result->selection, room_.Take(request.k));
    return absl::OkStatus();
  }

 private:
  SearchRoom<PassTotals> room_;
  DeviceRoom<uint32_t> marks_;
};

}  // namespace

PS_REGISTER_ON_DEVICE(DeviceSearch<DeviceRandomKRequest>, RandomKSearch);

}  // namespace ps
