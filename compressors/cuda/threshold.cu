// Forms a sum, finds a threshold by counts or from a sample, and selects what
// is above it.
#include "absl/strings/str_cat.h"
#include "compressors/cuda/rank.h"
#include "compressors/cuda/search_room.h"
#include "compressors/cuda/subset.h"

namespace ps {
namespace {

struct ThresholdState {
  PassTotals sum;
  int64_t num_selected = 0;
  float threshold = 0;
  float padding = 0;
};

struct ThresholdArguments {
  PassVector vector;
  ThresholdRule rule;
  SubsetDraw sample;
  int64_t sample_k = 0;            // 0: there is no sample.
  float* sample_values = nullptr;  // [sample.k]
  float keep_above = HUGE_VALF;
  KeptLists lists;
  SelectionOut out;
  ThresholdState* state = nullptr;
  GridScratch* scratch = nullptr;
};

// The k-th largest of a sample of u.
__device__ float ThresholdOfSample(const ThresholdArguments& a, Grid& grid,
                                   RankShared* rank) {
  MarkSubset(a.sample, grid);
  ForSubset(a.sample, grid, [&](int64_t place, uint32_t index) {
    a.sample_values[place] = a.vector.u[index];
  });
  ClearHistograms(grid);
  grid.Sync();
  PassVector sample;
  sample.u = a.sample_values;
  sample.n = a.sample.k;
  return __uint_as_float(FindRank(sample, nullptr, a.sample_k, grid, rank).low);
}

__global__ void __launch_bounds__(kPassThreads, kPassBlocksEach)
    ThresholdKernel(const __grid_constant__ ThresholdArguments a) {
  PS_SHARED_MEMORY(PassShared, shared);
  PS_SHARED_MEMORY(ThresholdSteps, steps);
  __shared__ RankShared rank;
  Grid grid(a.scratch, shared);
  PassVector vector = a.vector;
  PassGoal goal;
  goal.extrema = true;
  goal.values = a.rule.of_signed;
  goal.exceedances = a.rule.NeedsSums() && !goal.values;
  goal.cut = CutAbove(goal.exceedances ? 0 : a.keep_above);
  goal.keep = a.keep_above < HUGE_VALF;
  goal.kept = CutAbove(a.keep_above);
  Measure(vector, nullptr, goal, a.lists, grid);
  const PassTotals sum = shared->total;
  if (blockIdx.x == 0) CopyByBlock(shared->total, &a.state->sum);
  if (sum.num_non_finite > 0) return;
  vector.residual = nullptr;
  uint32_t counted = goal.cut.low;  // The latest pass has counted above this.
  float kept_above = a.keep_above;

  ThresholdRule rule = a.rule;
  if (a.sample_k > 0) rule.threshold = ThresholdOfSample(a, grid, &rank);
  if (threadIdx.x == 0) {
    Moments moments;
    moments.sum = sum.sum;
    moments.sum_squares = sum.sum_squares;
    moments.max = __uint_as_float(sum.max_bits);
    steps->Start(rule, vector.n, moments, sum.sum);
  }
  if (a.sample_k > 0) counted = 0xffffffff;
  __syncthreads();
  for (;;) {
    const bool asks = steps->asks();
    const float location = steps->location();
    const KeptLists* const lists = location >= kept_above ? &a.lists : nullptr;
    PassGoal count;
    count.cut = CutAbove(location);
    if (asks || count.cut.low != counted) {
      // Lower thresholds than this one may follow; new lists are then kept.
      count.keep = asks && lists == nullptr;
      count.kept = count.cut;
      Measure(vector, lists, count, a.lists, grid);
      counted = count.cut.low;
      if (count.keep) kept_above = location;
    }
    if (!asks) {
      const int64_t num_selected = shared->total.count();
      if (grid.thread() == 0) {
        a.state->threshold = location;
        a.state->num_selected = num_selected;
      }
      return SelectTo(a.out, num_selected, vector, lists, count.cut, grid);
    }
    __syncthreads();
    if (threadIdx.x == 0) steps->Next(shared->total.count());
    __syncthreads();
  }
}

absl::Status CheckRequest(const DeviceThresholdRequest& request) {
  if (request.sum.n < 1 || request.capacity < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a threshold of ", request.sum.n, " elements, of which ",
        request.capacity, " are left on the device; must be at least 1 each"));
  }
  const SampleRule& sample = request.sample;
  if (sample.k == 0) return absl::OkStatus();
  if (request.rule.kind != ThresholdRule::Kind::kFixed || sample.k < 0 ||
      sample.size < sample.k || sample.size > request.sum.n) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", sample.k, " in a sample of ", sample.size, " of ",
        request.sum.n,
        " elements; must be 1 to the sample's size, the sample at most all "
        "elements, and the rule's kind fixed"));
  }
  return absl::OkStatus();
}

class ThresholdSearch final : public DeviceSearch<DeviceThresholdRequest> {
 public:
  explicit ThresholdSearch(SparseWork* work) : room_(work) {}

  absl::Status Run(const DeviceThresholdRequest& request,
                   DeviceResult* result) override {
    PS_RETURN_IF_ERROR(CheckRequest(request));
    const int64_t n = request.sum.n;
    const std::string what = absl::StrCat("the threshold of ", n, " elements");
    PS_RETURN_IF_ERROR(
        room_.Reserve(what, n, request.capacity, request.likely_count));
    ThresholdArguments arguments;
    arguments.vector = VectorOf(request.sum);
    arguments.rule = request.rule;
    arguments.keep_above = request.keep_above;
    if (request.sample.k > 0) {
      PS_RETURN_IF_ERROR(marks_.Reserve(room_.work(), NumMarkWords(n), what));
      PS_RETURN_IF_ERROR(
          sample_.Reserve(room_.work(), request.sample.size, what));
      arguments.sample_k = request.sample.k;
      arguments.sample.key = request.sample.key;
      arguments.sample.n = n;
      arguments.sample.k = request.sample.size;
      arguments.sample.marks = marks_.get();
      arguments.sample_values = sample_.get();
    }
    PS_RETURN_IF_ERROR(room_.Run(ThresholdKernel, n, arguments));
    const ThresholdState& state = room_.state();
    *result = DeviceResult();
    result->moments = MomentsOf(state.sum);
    if (result->moments.num_non_finite > 0) return absl::OkStatus();
    result->threshold = state.threshold;
    result->num_selected = state.num_selected;
    PS_ASSIGN_OR_RETURN(result->selection, room_.Take(state.num_selected));
    return absl::OkStatus();
  }

 private:
  SearchRoom<ThresholdState> room_;
  DeviceRoom<uint32_t> marks_;
  DeviceRoom<float> sample_;
};

}  // namespace

PS_REGISTER_ON_DEVICE(DeviceSearch<DeviceThresholdRequest>, ThresholdSearch);

}  // namespace ps
