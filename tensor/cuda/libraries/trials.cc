#include "tensor/cuda/libraries/trials.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "glog/logging.h"

namespace ps {

int Trials::Fastest(const std::string& work, int num_candidates,
                    const std::function<absl::Status(int candidate)>& run) {
  if (num_candidates < 2) return 0;
  const auto known = fastest_.find(work);
  if (known != fastest_.end()) return known->second;
  if (budget_ <= absl::ZeroDuration()) return 0;
  const absl::Time start = SteadyClock()->Now();
  int fastest = 0;
  absl::Duration best = absl::InfiniteDuration();
  absl::Duration first = absl::InfiniteDuration();
  std::string error;
  for (int i = 0; i < num_candidates; ++i) {
    const absl::StatusOr<absl::Duration> time =
        Time([&run, i] { return run(i); }, best);
    if (!time.ok()) {
      error = absl::StrCat("; of those that failed, the last: ",
                           time.status().message());
      continue;
    }
    if (i == 0) first = *time;
    if (*time < best) best = *time, fastest = i;
  }
  budget_ -= SteadyClock()->Now() - start;
  fastest_[work] = fastest;
  if (best == absl::InfiniteDuration()) {
    LOG(WARNING) << work << ": no algorithm could be tried, the first is used"
                 << error;
    return 0;
  }
  LOG(INFO) << work << ": of " << num_candidates << " algorithms number "
            << fastest + 1 << " is the fastest with "
            << absl::FormatDuration(best) << ", the first takes "
            << absl::FormatDuration(first) << error;
  return fastest;
}

absl::StatusOr<absl::Duration> Trials::Time(
    const std::function<absl::Status()>& run, absl::Duration best) const {
  // The first run may load the kernel.
  PS_RETURN_IF_ERROR(run());
  absl::Duration shortest = absl::InfiniteDuration();
  for (int i = 0; i < 3; ++i) {
    PS_ASSIGN_OR_RETURN(const absl::Duration time, time_(run));
    shortest = std::min(shortest, time);
    // Too slow for another run to change the outcome.
    if (shortest > 1.5 * best) break;
  }
  return shortest;
}

}  // namespace ps
