// SIDCo on a device as passes over a vector: between two passes the device
// itself decides what the next one measures. For host and device.
#ifndef COMPRESSORS_CUDA_SIDCO_PASSES_H_
#define COMPRESSORS_CUDA_SIDCO_PASSES_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"
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

// In device memory while a vector is processed. Every block of a pass reads it;
// one thread writes it between two passes.
class SidcoPasses {
 public:
  PS_HOST_DEVICE void Start(const DeviceSidcoRequest& request) {
    *this = SidcoPasses();
    request_ = request;
    warm_ = request.warm_location < HUGE_VALF;
    task_ = Task::kForm;
  }

  // Sets the arguments that are specific to the next pass. On entry `arguments`
  // has the vectors, the place for their sum, and space for lists. Returns
  // false if there is no further pass.
  PS_HOST_DEVICE bool NextPass(SiftArguments* arguments) const {
    if (task_ == Task::kDone) return false;
    const bool forms = task_ == Task::kForm;
    if (!forms) arguments->input.residual = nullptr;
    float location = 0;
    float keep_above = HUGE_VALF;
    if (forms) keep_above = request_.keep_above;
    if (task_ == Task::kMeasure) {
      location = steps_.location();
      keep_above = steps_.keep_above();
    }
    const bool listed = has_lists_ && location >= kept_above_;
    arguments->input.use_lists = task_ == Task::kMeasure && listed;
    arguments->keep = task_ == Task::kMeasure
                          ? !(listed && keep_above <= kept_above_)
                          : forms && keep_above < HUGE_VALF;
    arguments->kept = MagnitudeRange::Above(keep_above);
    arguments->counted = MagnitudeRange::Above(location);
    arguments->location = location;
    // A warm start uses only the sums of a few elements.
    arguments->sum_of = forms && warm_ ? SumOf::kNothing : SumOf::kExceedances;
    arguments->sum_logs = request_.fits.MagnitudesNeedLogs() &&
                          (task_ == Task::kSums || (forms && !warm_));
    return true;
  }

  // Call after each pass, with its totals.
  PS_HOST_DEVICE void PassDone(const ChunkStats& total) {
    SiftArguments arguments;
    if (!NextPass(&arguments)) return;
    if (arguments.keep) {
      has_lists_ = true;
      kept_above_ =
          task_ == Task::kForm ? request_.keep_above : steps_.keep_above();
    }
    switch (task_) {
      case Task::kForm:
        return Formed(total);
      case Task::kMeasure:
        return Measured(total);
      case Task::kSums:
        return StartCold(total);
      case Task::kDone:
        return;
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

  PS_HOST_DEVICE bool done() const { return task_ == Task::kDone; }
  PS_HOST_DEVICE SidcoOutcome outcome() const { return outcome_; }
  PS_HOST_DEVICE const Moments& moments() const {
    return request_.estimate.moments;
  }
  // Whether the estimate started from warm_location.
  PS_HOST_DEVICE bool warm() const { return warm_; }
  PS_HOST_DEVICE const SidcoSteps& steps() const { return steps_; }
  PS_HOST_DEVICE int num_counted() const { return num_counted_; }
  PS_HOST_DEVICE const CountedLocation& counted(int i) const {
    return counted_[i];
  }
  PS_HOST_DEVICE int num_taken() const { return num_taken_; }
  PS_HOST_DEVICE double taken(int i) const { return taken_[i]; }

  // The maximum number of passes that the request takes.
  PS_HOST_DEVICE int max_passes() const {
    const EstimateRequest& estimate = request_.estimate;
    // Each stage but the first measures once, and may ask whether all
    // exceedances are as large as the maximum.
    const int cold = 2 * (estimate.stages - 1) + estimate.refine_steps;
    const bool warm = request_.warm_location < HUGE_VALF;
    // A warm start that fails ends before its corrections, and then needs the
    // sums.
    return 1 + (warm ? 3 : 0) + cold;
  }

 private:
  enum class Task {
    kForm,
    kMeasure,  // What steps_ asks for.
    kSums,     // Sums that a warm start has skipped.
    kDone,
  };

  PS_HOST_DEVICE SidcoMemory Memory() const {
    SidcoMemory memory;
    memory.steps = request_.known_steps;
    memory.num_steps = request_.num_known_steps;
    memory.refine_reach = request_.refine_reach;
    return memory;
  }

  PS_HOST_DEVICE void Formed(const ChunkStats& total) {
    EstimateRequest& estimate = request_.estimate;
    Moments& moments = estimate.moments;
    moments.num_nonzero = total.count;
    moments.num_non_finite = total.num_non_finite;
    moments.max = FloatFromBits(total.max_bits);
    moments.min_nonzero = FloatFromBits(total.min_bits_less_one + 1);
    estimate.population =
        request_.exclude_zeros ? moments.num_nonzero : request_.n;
    if (moments.num_non_finite > 0) return Finish(SidcoOutcome::kNonFinite);
    if (moments.num_nonzero == 0) return Finish(SidcoOutcome::kZero);
    if (estimate.target >= static_cast<double>(estimate.population)) {
      return Finish(SidcoOutcome::kSparse);
    }
    if (moments.min_nonzero == moments.max &&
        estimate.population == moments.num_nonzero) {
      return Finish(SidcoOutcome::kConstant);
    }
    if (!warm_) return StartCold(total);
    if (!HasSeveralStages(estimate)) return WarmStartFailed();
    steps_.StartWarm(request_.warm_location, estimate, Memory());
    task_ = Task::kMeasure;
  }

  // `total` has the sums of all elements.
  PS_HOST_DEVICE void StartCold(const ChunkStats& total) {
    EstimateRequest& estimate = request_.estimate;
    estimate.moments.sum = total.sum;
    estimate.moments.sum_squares = total.sum_squares;
    estimate.sum_logs = total.sum_logs;
    const int64_t zeros = estimate.population - estimate.moments.num_nonzero;
    if (request_.fits.MagnitudesNeedLogs()) {
      estimate.sum_logs +=
          static_cast<double>(zeros) * LogOfZero(estimate.moments);
    }
    steps_.StartCold(request_.estimate, Memory(), request_.fits);
    task_ = Task::kMeasure;
    FinishIfAnswered();
  }

  PS_HOST_DEVICE void WarmStartFailed() {
    warm_ = false;
    task_ = Task::kSums;
  }

  PS_HOST_DEVICE void Measured(const ChunkStats& total) {
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
    steps_.Next(exceedances, request_.fits);
    if (steps_.num_steps() > num_taken_ && num_taken_ < kMaxDeviceStages) {
      taken_[num_taken_++] = steps_.last_step();
    }
    FinishIfAnswered();
  }

  PS_HOST_DEVICE void FinishIfAnswered() {
    if (steps_.asks() != SidcoSteps::Asks::kNothing) return;
    if (steps_.stages() > 0) return Finish(SidcoOutcome::kEstimated);
    if (warm_) return WarmStartFailed();
    Finish(SidcoOutcome::kConstant);
  }

  PS_HOST_DEVICE void Finish(SidcoOutcome outcome) {
    outcome_ = outcome;
    task_ = Task::kDone;
  }

  DeviceSidcoRequest request_;
  Task task_ = Task::kDone;
  SidcoOutcome outcome_ = SidcoOutcome::kUnknown;
  bool warm_ = false;
  SidcoSteps steps_;
  bool has_lists_ = false;  // The lists hold all above kept_above_.
  float kept_above_ = 0;
  CountedLocation counted_[kMaxDeviceStages + 1];
  int num_counted_ = 0;
  double taken_[kMaxDeviceStages];
  int num_taken_ = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_SIDCO_PASSES_H_
