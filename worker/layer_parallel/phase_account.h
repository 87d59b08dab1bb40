// Counts the costs of a phase: time, bytes between stages, mismatch.
#ifndef WORKER_LAYER_PARALLEL_PHASE_ACCOUNT_H_
#define WORKER_LAYER_PARALLEL_PHASE_ACCOUNT_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace ps {

// The account. Not thread-safe.
class PhaseAccount {
 public:
  // Starts a phase. alone: this worker has all stages.
  void Reset(int own_stages, bool alone) {
    *this = PhaseAccount();
    stage_times_.resize(own_stages);
    alone_ = alone;
  }

  // Adds the time of preparing a parallel phase. All times are without waiting
  // for other workers.
  void AddPreparation(absl::Duration time) {
    here_ += time;
    side_by_side_ += time;
  }
  // Adds an iteration whose stages ran one after the other, and must.
  void AddSerial(absl::Duration time) {
    ++iterations_;
    here_ += time;
    side_by_side_ += time;
  }
  // Adds an iteration of this worker's stages, which can run side by side, each
  // on a machine of its own.
  void AddParallel(const std::vector<absl::Duration>& stage_times) {
    ++iterations_;
    for (size_t i = 0; i < stage_times.size(); ++i) {
      stage_times_[i] += stage_times[i];
      here_ += stage_times[i];
    }
    side_by_side_ += *std::max_element(stage_times.begin(), stage_times.end());
  }
  void AddWaited(absl::Duration time) { waited_ += time; }
  void AddBytes(int64_t bytes) { bytes_ += bytes; }
  void AddMismatch(double squares) { mismatch_ += squares; }

  // Returns a text for the log.
  std::string ToString() const {
    std::string text =
        absl::StrCat(iterations_, " iterations, ", Text(here_), " here, ");
    if (alone_) {
      absl::StrAppend(&text, Text(side_by_side_),
                      " with a machine for each stage and a network that "
                      "takes no time");
    } else {
      absl::StrAppend(&text, Text(waited_), " waiting for other stages");
    }
    if (bytes_ > 0) {
      absl::StrAppend(&text, "; ", bytes_,
                      alone_ ? " bytes between stages" : " bytes sent");
    }
    if (mismatch_ > 0) {
      absl::StrAppend(&text, "; mean mismatch ",
                      mismatch_ / static_cast<double>(iterations_));
    }
    if (!alone_ || side_by_side_ == here_) return text;
    absl::StrAppend(&text, "; stages took");
    for (const absl::Duration time : stage_times_) {
      absl::StrAppend(&text, " ", Text(time));
    }
    return text;
  }

 private:
  static std::string Text(absl::Duration time) {
    return absl::FormatDuration(absl::Trunc(time, absl::Milliseconds(1)));
  }

  bool alone_ = true;
  int64_t iterations_ = 0;
  absl::Duration here_;
  absl::Duration side_by_side_;
  absl::Duration waited_;
  std::vector<absl::Duration> stage_times_;
  int64_t bytes_ = 0;
  double mismatch_ = 0;
};

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_PHASE_ACCOUNT_H_
