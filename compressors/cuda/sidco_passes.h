// SIDCo on a device as passes over a vector: between two passes the device
// itself decides what the next one measures. For host and device.
#ifndef COMPRESSORS_CUDA_SIDCO_PASSES_H_
#define COMPRESSORS_CUDA_SIDCO_PASSES_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"
#include "compressors/cuda/gamma_search.h"
#include "compressors/fits/threshold_formulas.h"
#include "compressors/sidco/sidco_request.h"
#include "compressors/sidco/sidco_steps.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/sift.h"
#include "tensor/moments.h"

namespace ps {

constexpr int kMaxDeviceStages = 64;

struct DeviceSidcoRequest {
  TailFits fits;
  // `population` and `moments` are computed on the device. stages: at most
  // kMaxDeviceStages.
  EstimateRequest estimate;
  int64_t n = 0;
  bool exclude_zeros = true;  // From the population.
  // The location of a warm start; infinity means none.
  float warm_location = HUGE_VALF;
  // A guess, like SieveGuess::keep_above.
  float keep_above = HUGE_VALF;
  // The remaining fields are those of SidcoMemory.
  double known_steps[kMaxDeviceStages] = {};
  int num_known_steps = 0;
  double refine_reach = 1;
};

// The outcome for a vector.
enum class SidcoOutcome {
  kUnknown,
  kEstimated,
  kNonFinite,  // An element is not finite.
  kZero,       // All elements are zero.
  kSparse,     // No more non-zeros than the target.
  kConstant,   // All magnitudes are equal, or no law can be fitted.
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
  bool keep = false;
  bool sum_logs = false;
  SumOf sum_of = SumOf::kNothing;
  float location = 0;
  float keep_above = 0;

  // On entry `arguments` has the vectors, the place for their sum, and space
  // for lists.
  PS_HOST_DEVICE void ApplyTo(SiftArguments* arguments) const {
    if (task != Task::kForm) arguments->input.residual = nullptr;
    arguments->input.use_lists = use_lists;
    arguments->counted = MagnitudeRange::Above(location);
    arguments->sum_of = sum_of;
    arguments->location = location;
    arguments->sum_logs = sum_logs;
    arguments->keep = keep;
    arguments->kept = MagnitudeRange::Above(keep_above);
  }
};

// In device memory while a vector is processed. One thread writes it between
// two passes; all blocks read next().
class SidcoPasses {
 public:
  // The first pass, for blocks that cannot know yet whether Start has been
  // called.
  PS_HOST_DEVICE static SidcoPass First(const DeviceSidcoRequest& request) {
    SidcoPass pass;
    pass.task = SidcoPass::Task::kForm;
    pass.keep_above = request.keep_above;
    pass.keep = request.keep_above < HUGE_VALF;
    // A warm start uses only the sums of a few elements.
    if (request.warm_location < HUGE_VALF) return pass;
    pass.sum_of = SumOf::kExceedances;
    pass.sum_logs = request.fits.MagnitudesNeedLogs();
    return pass;
  }

  PS_HOST_DEVICE void Start(const DeviceSidcoRequest& request) {
    *this = SidcoPasses();
    estimate_ = request.estimate;
    warm_ = request.warm_location < HUGE_VALF;
    next_ = First(request);
  }

  PS_HOST_DEVICE const SidcoPass& next() const { return next_; }

  // Call after each pass, with its totals, a new search, and the same request,
  // which must stay where it is. If the search is open afterwards, it must be
  // answered, and the call repeated.
  PS_HOST_DEVICE void PassDone(const DeviceSidcoRequest& request,
                               const ChunkStats& total, GammaSearch* search) {
    const SidcoPass pass = next_;
    next_ = SidcoPass();
    if (pass.keep) {
      has_lists_ = true;
      kept_above_ = pass.keep_above;
    }
    switch (pass.task) {
      case SidcoPass::Task::kForm:
        Formed(request, total, search);
        break;
      case SidcoPass::Task::kMeasure:
        Measured(request, total);
        break;
      case SidcoPass::Task::kSums:
        StartCold(request, total, search);
        break;
      case SidcoPass::Task::kCount:
      case SidcoPass::Task::kNone:
        break;
    }
    if (search->open()) next_ = pass;
    if (outcome_ != SidcoOutcome::kEstimated) return;
    if (pass.location == steps_.threshold()) {
      // The chunks' counts are those of the selection.
      num_selected_ = total.count;
    } else {
      next_.task = SidcoPass::Task::kCount;
      next_.location = steps_.threshold();
      next_.use_lists = SelectedAreListed();
    }
  }

  // Once done() is true: the range that is selected, and whether the lists hold
  // it. Empty unless there is an estimate.
  PS_HOST_DEVICE MagnitudeRange Selected() const {
    return outcome_ == SidcoOutcome::kEstimated
               ? MagnitudeRange::Above(steps_.threshold())
               : MagnitudeRange();
  }
  PS_HOST_DEVICE bool SelectedAreListed() const {
    return has_lists_ && steps_.threshold() >= kept_above_;
  }

  // The number of selected elements; the last pass has counted them by chunk.
  PS_HOST_DEVICE int64_t num_selected() const { return num_selected_; }

  PS_HOST_DEVICE bool done() const {
    return next_.task == SidcoPass::Task::kNone;
  }
  PS_HOST_DEVICE SidcoOutcome outcome() const { return outcome_; }
  PS_HOST_DEVICE const Moments& moments() const { return estimate_.moments; }
  // Whether the estimate started from warm_location.
  PS_HOST_DEVICE bool warm() const { return warm_; }
  PS_HOST_DEVICE const SidcoSteps& steps() const { return steps_; }
  PS_HOST_DEVICE int num_counted() const { return num_counted_; }
  PS_HOST_DEVICE const CountedLocation& counted(int i) const {
    return counted_[i];
  }
  PS_HOST_DEVICE int num_taken() const { return num_taken_; }
  PS_HOST_DEVICE double taken(int i) const { return taken_[i]; }

  // The maximum number of passes that a request takes.
  PS_HOST_DEVICE static int MaxPasses(const DeviceSidcoRequest& request) {
    const EstimateRequest& estimate = request.estimate;
    // Each stage but the first measures once, and may ask whether all
    // exceedances are as large as the maximum.
    const int cold = 2 * (estimate.stages - 1) + estimate.refine_steps;
    const bool warm = request.warm_location < HUGE_VALF;
    // A warm start that fails ends before its corrections, and then needs the
    // sums. The first pass forms, and the last one may count.
    return 2 + (warm ? 3 : 0) + cold;
  }

 private:
  PS_HOST_DEVICE static SidcoMemory MemoryOf(
      const DeviceSidcoRequest& request) {
    SidcoMemory memory;
    memory.steps = request.known_steps;
    memory.num_steps = request.num_known_steps;
    memory.refine_reach = request.refine_reach;
    return memory;
  }

  PS_HOST_DEVICE void Formed(const DeviceSidcoRequest& request,
                             const ChunkStats& total, GammaSearch* search) {
    Moments& moments = estimate_.moments;
    moments.num_nonzero = total.count;
    moments.num_non_finite = total.num_non_finite;
    moments.max = FloatFromBits(total.max_bits);
    moments.min_nonzero = FloatFromBits(total.min_bits_less_one + 1);
    estimate_.population =
        request.exclude_zeros ? moments.num_nonzero : request.n;
    if (moments.num_non_finite > 0) return Finish(SidcoOutcome::kNonFinite);
    if (moments.num_nonzero == 0) return Finish(SidcoOutcome::kZero);
    if (estimate_.target >= static_cast<double>(estimate_.population)) {
      return Finish(SidcoOutcome::kSparse);
    }
    if (moments.min_nonzero == moments.max &&
        estimate_.population == moments.num_nonzero) {
      return Finish(SidcoOutcome::kConstant);
    }
    if (!warm_) return StartCold(request, total, search);
    if (!HasSeveralStages(estimate_)) return WarmStartFailed(request);
    steps_.StartWarm(request.warm_location, estimate_, MemoryOf(request));
    Measure();
  }

  // `total` has the sums of all elements.
  PS_HOST_DEVICE void StartCold(const DeviceSidcoRequest& request,
                                const ChunkStats& total, GammaSearch* search) {
    estimate_.moments.sum = total.sum;
    estimate_.moments.sum_squares = total.sum_squares;
    estimate_.sum_logs = total.sum_logs;
    const int64_t zeros = estimate_.population - estimate_.moments.num_nonzero;
    if (request.fits.MagnitudesNeedLogs()) {
      estimate_.sum_logs +=
          static_cast<double>(zeros) * LogOfZero(estimate_.moments);
    }
    steps_.StartCold(estimate_, MemoryOf(request),
                     SearchedFits{request.fits, search});
    if (!search->open()) GoOn(request);
  }

  PS_HOST_DEVICE void WarmStartFailed(const DeviceSidcoRequest& request) {
    warm_ = false;
    next_.task = SidcoPass::Task::kSums;
    next_.sum_of = SumOf::kExceedances;
    next_.sum_logs = request.fits.MagnitudesNeedLogs();
  }

  PS_HOST_DEVICE void Measure() {
    next_.task = SidcoPass::Task::kMeasure;
    next_.location = steps_.location();
    next_.keep_above = steps_.keep_above();
    next_.sum_of = SumOf::kExceedances;
    next_.use_lists = has_lists_ && next_.location >= kept_above_;
    // Chunks whose list would have been too long get one now.
    next_.keep = !next_.use_lists || next_.keep_above > kept_above_;
  }

  PS_HOST_DEVICE void Measured(const DeviceSidcoRequest& request,
                               const ChunkStats& total) {
    const SidcoSteps::Asks asked = steps_.asks();
    if ((asked == SidcoSteps::Asks::kStage ||
         asked == SidcoSteps::Asks::kWarmStart) &&
        num_counted_ <= kMaxDeviceStages) {
      counted_[num_counted_].location = steps_.location();
      counted_[num_counted_].count = total.count;
      ++num_counted_;
    }
    Exceedances exceedances;
    exceedances.count = total.count;
    exceedances.sum = total.sum;
    exceedances.sum_squares = total.sum_squares;
    steps_.Next(exceedances, request.fits);
    if (steps_.num_steps() > num_taken_ && num_taken_ < kMaxDeviceStages) {
      taken_[num_taken_++] = steps_.last_step();
    }
    GoOn(request);
  }

  PS_HOST_DEVICE void GoOn(const DeviceSidcoRequest& request) {
    if (steps_.asks() != SidcoSteps::Asks::kNothing) return Measure();
    if (steps_.stages() > 0) return Finish(SidcoOutcome::kEstimated);
    if (warm_) return WarmStartFailed(request);
    Finish(SidcoOutcome::kConstant);
  }

  PS_HOST_DEVICE void Finish(SidcoOutcome outcome) { outcome_ = outcome; }

  SidcoPass next_;
  // request.estimate, with what the first pass has found.
  EstimateRequest estimate_;
  SidcoOutcome outcome_ = SidcoOutcome::kUnknown;
  bool warm_ = false;
  SidcoSteps steps_;
  bool has_lists_ = false;  // The lists hold all above kept_above_.
  float kept_above_ = 0;
  CountedLocation counted_[kMaxDeviceStages + 1];
  int num_counted_ = 0;
  double taken_[kMaxDeviceStages];
  int num_taken_ = 0;
  int64_t num_selected_ = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_SIDCO_PASSES_H_
