// SIDCo: forms the sum, estimates the threshold by the steps of
// compressors/sidco/sidco_steps.h, and selects what is above it.
//
// After each pass every block decides, with the same numbers, what the next one
// measures: no block waits for another's decision. After a warm start the first
// pass measures above the location that the last vector suggests, and lists
// what it finds, so that all later passes read lists.
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compressors/cuda/device_sidco.h"
#include "compressors/cuda/search_room.h"
#include "compressors/fits/quantiles.h"
#include "compressors/sidco/sidco_steps.h"

namespace ps {
namespace {

// Solves survival(x) = p for the gamma law: Newton's method for ln(survival),
// within a bracket. One thread needs a tenth of a bisection's evaluations.
struct SolveByNewton {
  __device__ double operator()(
      const quantiles_internal::GammaSurvival& survival, double p,
      double high) const {
    double q = survival(high);
    double low = 0;
    while (q > p) {
      low = high;
      high *= 2;
      q = survival(high);
    }
    double x = high;
    for (int i = 0; i < 100; ++i) {
      const double density =
          quantiles_internal::GammaFactor(survival.shape, x) / x;
      double next = x + q / density * log(q / p);
      if (!(next > low && next < high)) next = low + (high - low) / 2;
      const double step = fabs(next - x);
      x = next;
      if (step <= quantiles_internal::kPrecision * x) break;
      q = survival(x);
      (q > p ? low : high) = x;
    }
    return x;
  }
};

struct DeviceFits {
  TailFits fits;

  __device__ bool Magnitudes(const TailSample& sample, double density,
                             double* x) const {
    return fits.Magnitudes(sample, density, SolveByNewton(), x);
  }
  __device__ bool Exceedances(const TailSample& sample, double density,
                              double* x) const {
    return fits.Exceedances(sample, density, x);
  }
};

// A pass over the vector.
struct SidcoPass {
  enum class Task {
    kForm,
    kMeasure,  // What the steps ask for.
    kSums,     // Sums that a warm start has skipped.
    kCount,    // The selected elements.
    kNone,
  };
  Task task = Task::kNone;
  bool use_lists = false;
  float kept_above = 0;
  PassGoal goal;
};

// The estimate of one vector as passes. A block's is in its shared memory, and
// one thread changes it between two passes.
struct SidcoPasses {
  SidcoPass next;
  EstimateRequest estimate;  // With what the first pass has found.
  SidcoOutcome outcome = SidcoOutcome::kUnknown;
  bool warm = false;
  SidcoSteps steps;
  bool has_lists = false;  // The lists hold all above kept_above.
  float kept_above = 0;
  CountedLocation counted[kMaxDeviceStages + 1];
  int num_counted = 0;
  double taken[kMaxDeviceStages];
  int num_taken = 0;
  int64_t num_selected = 0;

  __device__ void Start(const DeviceSidcoRequest& request) {
    *this = SidcoPasses();
    estimate = request.estimate;
    warm = request.warm_location < HUGE_VALF;
    next.task = SidcoPass::Task::kForm;
    next.kept_above = request.keep_above;
    next.goal.extrema = true;
    next.goal.keep = request.keep_above < HUGE_VALF;
    next.goal.kept = CutAbove(request.keep_above);
    MeasureAbove(warm ? request.warm_location : 0);
    if (!warm) next.goal.logs = request.fits.MagnitudesNeedLogs();
  }

  // Takes a pass's totals, and sets the next one.
  __device__ void PassDone(const DeviceSidcoRequest& request,
                           const PassTotals& total) {
    const SidcoPass pass = next;
    next = SidcoPass();
    if (pass.goal.keep) {
      has_lists = true;
      kept_above = pass.kept_above;
    }
    if (pass.task == SidcoPass::Task::kForm) Formed(request, total);
    if (pass.task == SidcoPass::Task::kMeasure) Measured(request, total);
    if (pass.task == SidcoPass::Task::kSums) StartCold(request, total);
    if (outcome != SidcoOutcome::kEstimated) return;
    next.goal.cut = SelectedCut();
    if (pass.goal.cut.low == next.goal.cut.low) {
      // The segments' counts are those of the selection.
      num_selected = total.count();
    } else {
      next.task = SidcoPass::Task::kCount;
      next.use_lists = SelectedAreListed();
    }
  }

  __device__ Cut SelectedCut() const { return CutAbove(steps.threshold()); }
  __device__ bool SelectedAreListed() const {
    return has_lists && steps.threshold() >= kept_above;
  }

  // The maximum number of passes that a request takes.
  static __device__ int MaxPasses(const DeviceSidcoRequest& request) {
    // Each stage but the first measures once, and may ask whether all
    // exceedances are as large as the maximum. A warm start that fails ends
    // before its corrections, and then needs the sums. The first pass forms,
    // and the last one may count.
    return 2 + 3 + 2 * (request.estimate.stages - 1) +
           request.estimate.refine_steps;
  }

 private:
  __device__ static SidcoMemory MemoryOf(const DeviceSidcoRequest& request) {
    SidcoMemory memory;
    memory.steps = request.known_steps;
    memory.num_steps = request.num_known_steps;
    memory.refine_reach = request.refine_reach;
    return memory;
  }

  __device__ void MeasureAbove(float location) {
    next.goal.cut = CutAbove(location);
    next.goal.exceedances = true;
    next.goal.location = location;
  }

  __device__ void Formed(const DeviceSidcoRequest& request,
                         const PassTotals& total) {
    Moments& moments = estimate.moments;
    moments.num_nonzero = total.num_nonzero;
    moments.num_non_finite = total.num_non_finite;
    moments.max = __uint_as_float(total.max_bits);
    moments.min_nonzero = __uint_as_float(total.min_bits_less_one + 1);
    estimate.population =
        request.exclude_zeros ? moments.num_nonzero : request.sum.n;
    if (moments.num_non_finite > 0) return Finish(SidcoOutcome::kNonFinite);
    if (moments.num_nonzero == 0) return Finish(SidcoOutcome::kZero);
    if (estimate.target >= static_cast<double>(estimate.population)) {
      return Finish(SidcoOutcome::kSparse);
    }
    if (moments.min_nonzero == moments.max &&
        estimate.population == moments.num_nonzero) {
      return Finish(SidcoOutcome::kConstant);
    }
    if (!warm) return StartCold(request, total);
    if (!HasSeveralStages(estimate)) return WarmStartFailed(request);
    steps.StartWarm(request.warm_location, estimate, MemoryOf(request));
    Measured(request, total);
  }

  // `total` has the sums of all magnitudes.
  __device__ void StartCold(const DeviceSidcoRequest& request,
                            const PassTotals& total) {
    estimate.moments.sum = total.sum;
    estimate.moments.sum_squares = total.sum_squares;
    estimate.sum_logs = total.sum_logs;
    const int64_t zeros = estimate.population - estimate.moments.num_nonzero;
    if (request.fits.MagnitudesNeedLogs() && zeros > 0) {
      estimate.sum_logs +=
          static_cast<double>(zeros) * LogOfZero(estimate.moments);
    }
    steps.StartCold(estimate, MemoryOf(request), DeviceFits{request.fits});
    GoOn(request);
  }

  __device__ void WarmStartFailed(const DeviceSidcoRequest& request) {
    warm = false;
    next.task = SidcoPass::Task::kSums;
    MeasureAbove(0);
    next.goal.logs = request.fits.MagnitudesNeedLogs();
  }

  // What the steps have asked for.
  __device__ void Measured(const DeviceSidcoRequest& request,
                           const PassTotals& total) {
    const SidcoSteps::Asks asked = steps.asks();
    if ((asked == SidcoSteps::Asks::kStage ||
         asked == SidcoSteps::Asks::kWarmStart) &&
        num_counted <= kMaxDeviceStages) {
      counted[num_counted].location = steps.location();
      counted[num_counted].count = total.count();
      ++num_counted;
    }
    Exceedances exceedances;
    exceedances.count = total.count();
    exceedances.sum = total.sum;
    exceedances.sum_squares = total.sum_squares;
    steps.Next(exceedances, DeviceFits{request.fits});
    if (steps.num_steps() > num_taken && num_taken < kMaxDeviceStages) {
      taken[num_taken++] = steps.last_step();
    }
    GoOn(request);
  }

  __device__ void GoOn(const DeviceSidcoRequest& request) {
    if (steps.asks() == SidcoSteps::Asks::kNothing) {
      if (steps.stages() > 0) return Finish(SidcoOutcome::kEstimated);
      if (warm) return WarmStartFailed(request);
      return Finish(SidcoOutcome::kConstant);
    }
    next.task = SidcoPass::Task::kMeasure;
    MeasureAbove(steps.location());
    next.use_lists = has_lists && steps.location() >= kept_above;
    // Segments whose list would have been too long get one now.
    next.goal.keep = !next.use_lists || steps.keep_above() > kept_above;
    next.kept_above = steps.keep_above();
    next.goal.kept = CutAbove(steps.keep_above());
  }

  __device__ void Finish(SidcoOutcome found) { outcome = found; }
};

struct SidcoArguments {
  DeviceSidcoRequest request;
  KeptLists lists;
  SelectionOut out;
  SidcoPasses* state = nullptr;
  GridScratch* scratch = nullptr;
};

__global__ void __launch_bounds__(kPassThreads, kPassBlocksEach)
    SidcoKernel(const __grid_constant__ SidcoArguments a) {
  PS_SHARED_MEMORY(PassShared, shared);
  PS_SHARED_MEMORY(SidcoPasses, passes);
  Grid grid(a.scratch, shared);
  const DeviceSum& sum = a.request.sum;
  PassVector vector = {sum.residual, sum.gradient, sum.u, sum.n};
  ClearByBlock(passes);
  if (threadIdx.x == 0) passes->Start(a.request);
  // The bound guards against our own bugs: a kernel that never ends is worse
  // than an error.
  for (int left = SidcoPasses::MaxPasses(a.request); left > 0; --left) {
    __syncthreads();
    if (passes->next.task == SidcoPass::Task::kNone) break;
    const PassGoal goal = passes->next.goal;
    Measure(vector, passes->next.use_lists ? &a.lists : nullptr, goal, a.lists,
            grid);
    vector.residual = nullptr;
    if (threadIdx.x == 0) passes->PassDone(a.request, shared->total);
  }
  __syncthreads();
  if (blockIdx.x == 0) CopyByBlock(*passes, a.state);
  SelectTo(a.out, passes->num_selected, vector,
           passes->SelectedAreListed() ? &a.lists : nullptr,
           passes->SelectedCut(), grid);
}

absl::Status CheckRequest(const DeviceSidcoRequest& request) {
  const int stages = request.estimate.stages;
  if (request.sum.n < 1 || request.capacity < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "SIDCo of ", request.sum.n, " elements, of which ", request.capacity,
        " are left on the device; must be at least 1 each"));
  }
  if (stages < 1 || stages > kMaxDeviceStages || request.num_known_steps < 0 ||
      request.num_known_steps > kMaxDeviceStages) {
    return absl::InvalidArgumentError(absl::StrCat(
        stages, " stages, ", request.num_known_steps,
        " of them known; must be 1 to ", kMaxDeviceStages, " stages"));
  }
  return absl::OkStatus();
}

SidcoTrace TraceOf(const SidcoPasses& passes) {
  SidcoTrace trace;
  trace.counted.assign(passes.counted, passes.counted + passes.num_counted);
  if (!passes.warm) {
    trace.steps =
        std::vector<double>(passes.taken, passes.taken + passes.num_taken);
  }
  trace.refine_reach = passes.steps.refine_reach();
  return trace;
}

class SidcoSearch final : public DeviceSearch<DeviceSidcoRequest> {
 public:
  explicit SidcoSearch(SparseWork* work) : room_(work) {}

  absl::Status Run(const DeviceSidcoRequest& request,
                   DeviceSidcoResult* result) override {
    PS_RETURN_IF_ERROR(CheckRequest(request));
    const int64_t n = request.sum.n;
    // Corrected thresholds select hardly more than the target.
    const int64_t likely =
        static_cast<int64_t>(1.25 * request.estimate.target) + kSegment;
    PS_RETURN_IF_ERROR(room_.Reserve(absl::StrCat("SIDCo of ", n, " elements"),
                                     n, request.capacity, likely));
    SidcoArguments arguments;
    arguments.request = request;
    PS_RETURN_IF_ERROR(room_.Run(SidcoKernel, n, arguments));
    const SidcoPasses& passes = room_.state();
    if (passes.next.task != SidcoPass::Task::kNone) {
      return absl::InternalError(
          absl::StrCat("SIDCo of ", n, " elements did not finish"));
    }
    *result = DeviceSidcoResult();
    result->outcome = passes.outcome;
    result->moments = passes.estimate.moments;
    if (result->outcome != SidcoOutcome::kEstimated) return absl::OkStatus();
    result->warm = passes.warm;
    result->estimate.threshold = passes.steps.threshold();
    result->estimate.stages = passes.steps.stages();
    result->estimate.stopped = passes.steps.stopped();
    if (passes.steps.refined()) {
      result->estimate.estimated_count = passes.steps.estimated_count();
    }
    result->trace = TraceOf(passes);
    result->num_selected = passes.num_selected;
    PS_ASSIGN_OR_RETURN(result->selection, room_.Take(passes.num_selected));
    return absl::OkStatus();
  }

 private:
  SearchRoom<SidcoPasses> room_;
};

}  // namespace

PS_REGISTER_ON_DEVICE(DeviceSearch<DeviceSidcoRequest>, SidcoSearch);

}  // namespace ps
