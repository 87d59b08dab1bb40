// What a phase cost: time, bytes between stages, mismatch.
#ifndef WORKER_LAYER_PARALLEL_PHASE_ACCOUNT_H_
#define WORKER_LAYER_PARALLEL_PHASE_ACCOUNT_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace ps {

// Not thread-safe.
class PhaseAccount {
 public:
  void Reset(int num_stages) {
    *this = PhaseAccount();
    stage_times_.resize(num_stages);
  }

  // An iteration whose stages ran one after the other, and must.
  void AddSerial(absl::Duration time) {
    ++iterations_;
    here_ += time;
    side_by_side_ += time;
  }
  // An iteration whose stages could have run side by side, each on a machine of
  // its own.
  void AddParallel(const std::vector<absl::Duration>& stage_times) {
    ++iterations_;
    for (size_t k = 0; k < stage_times.size(); ++k) {
      stage_times_[k] += stage_times[k];
      here_ += stage_times[k];
    }
    side_by_side_ += *std::max_element(stage_times.begin(), stage_times.end());
  }
  void AddBytes(int64_t bytes) { bytes_ += bytes; }
  void AddMismatch(double squares) { mismatch_ += squares; }

  // For the log. The time of machines side by side leaves out the network.
  std::string ToString() const {
    const double count = static_cast<double>(std::max<int64_t>(1, iterations_));
    std::string text = absl::StrCat(
        iterations_, " iterations, ",
        absl::FormatDuration(absl::Trunc(here_, absl::Milliseconds(1))),
        " here, ",
        absl::FormatDuration(absl::Trunc(side_by_side_, absl::Milliseconds(1))),
        " with a machine for each stage and a network that takes no time");
    if (bytes_ == 0) return text;
    absl::StrAppend(&text, "; ", bytes_,
                    " bytes between stages; mean mismatch ", mismatch_ / count,
                    "; stages took");
    for (const absl::Duration time : stage_times_) {
      absl::StrAppend(
          &text, " ",
          absl::FormatDuration(absl::Trunc(time, absl::Milliseconds(1))));
    }
    return text;
  }

 private:
  int64_t iterations_ = 0;
  absl::Duration here_;
  absl::Duration side_by_side_;
  std::vector<absl::Duration> stage_times_;
  int64_t bytes_ = 0;
  double mismatch_ = 0;
};

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_PHASE_ACCOUNT_H_
