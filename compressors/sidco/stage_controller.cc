#include "compressors/sidco/stage_controller.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/status_macros.h"

namespace ps {

StageController::StageController(const StageControllerOptions& options)
    : options_(options), stages_(options.start_stages) {}

void StageController::Observe(double quality) {
  quality_sum_ += quality;
  if (++observations_ < options_.adapt_every) return;
  const double mean = quality_sum_ / observations_;
  quality_sum_ = 0;
  observations_ = 0;
  switch (options_.rule) {
    case StageControllerOptions::Rule::kFixed:
      return DecideFixed(mean);
    case StageControllerOptions::Rule::kReverse:
      return DecideReverse(mean);
    case StageControllerOptions::Rule::kProbe:
      return DecideProbe(mean);
  }
}

bool StageController::InBand(double quality) const {
  return quality >= 1 - options_.tolerance_low &&
         quality <= 1 + options_.tolerance_high;
}

void StageController::DecideFixed(double quality) {
  if (InBand(quality)) return;
  stages_ =
      std::clamp(stages_ + (quality < 1 ? 1 : -1), 1, options_.max_stages);
}

void StageController::DecideReverse(double quality) {
  const double error = std::abs(quality - 1);
  if (error > last_error_) direction_ = -direction_;
  // SIDCo's code does not turn after a quality of 0, which is also its initial
  // value.
  last_error_ = quality > 0 ? error : std::numeric_limits<double>::infinity();
  if (InBand(quality)) return;
  stages_ = std::clamp(stages_ + (quality < 1 ? direction_ : -direction_), 1,
                       options_.max_stages);
}

void StageController::DecideProbe(double quality) {
  if (InBand(quality)) {
    // If the quality leaves the band later, none of our moves caused it, so
    // there is nothing to reverse.
    last_error_ = std::numeric_limits<double>::infinity();
    return;
  }
  // The error is infinite if nothing was selected. Two infinite errors in a row
  // are no growth.
  const double error = std::abs(std::log(quality));
  if (error > last_error_) direction_ = -direction_;
  last_error_ = error;
  const int next = stages_ + direction_;
  if (next < 1 || next > options_.max_stages) direction_ = -direction_;
  stages_ = std::clamp(stages_ + direction_, 1, options_.max_stages);
}

void StageController::Save(StateWriter* state) const {
  state->PutInt(stages_);
  state->PutInt(direction_);
  state->PutDouble(last_error_);
  state->PutDouble(quality_sum_);
  state->PutInt(observations_);
}

absl::Status StageController::Load(StateReader* state) {
  PS_ASSIGN_OR_RETURN(const int64_t stages, state->GetInt());
  PS_ASSIGN_OR_RETURN(const int64_t direction, state->GetInt());
  PS_ASSIGN_OR_RETURN(const double last_error, state->GetDouble());
  PS_ASSIGN_OR_RETURN(const double quality_sum, state->GetDouble());
  PS_ASSIGN_OR_RETURN(const int64_t observations, state->GetInt());
  PS_RETURN_IF_ERROR(state->Finish());
  // The bounds of the job may have changed since the state was saved.
  if (stages < 1 || stages > options_.max_stages ||
      (direction != 1 && direction != -1) || !(last_error >= 0) ||
      !(quality_sum >= 0) || observations < 0 ||
      observations >= options_.adapt_every) {
    return absl::DataLossError("stage controller state out of range");
  }
  stages_ = static_cast<int>(stages);
  direction_ = static_cast<int>(direction);
  last_error_ = last_error;
  quality_sum_ = quality_sum;
  observations_ = static_cast<int>(observations);
  return absl::OkStatus();
}

}  // namespace ps
