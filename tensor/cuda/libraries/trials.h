// Tries algorithms of a library and picks the fastest.
#ifndef TENSOR_CUDA_LIBRARIES_TRIALS_H_
#define TENSOR_CUDA_LIBRARIES_TRIALS_H_

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace ps {

// Runs the work and returns how long the device took for it.
using TimeWork = std::function<absl::StatusOr<absl::Duration>(
    const std::function<absl::Status()>& work)>;

// Used by one thread at a time.
class Trials {
 public:
  // After `budget` of the host's time nothing more is tried.
  explicit Trials(TimeWork time, absl::Duration budget = absl::Seconds(60))
      : time_(std::move(time)), budget_(budget) {}

  // The number of the fastest of `num_candidates` ways of doing the same work,
  // counted from 0. Each is run at most four times and judged by its shortest
  // time, the first run not counted; one whose run fails is passed over.
  // The result is logged, and remembered for work of the same name. It is 0,
  // the library's own recommendation, if nothing could be tried.
  int Fastest(const std::string& work, int num_candidates,
              const std::function<absl::Status(int candidate)>& run);

 private:
  // The shortest of a few runs; of one, if it is much longer than `best`.
  absl::StatusOr<absl::Duration> Time(const std::function<absl::Status()>& run,
                                      absl::Duration best) const;

  const TimeWork time_;
  absl::Duration budget_;
  std::map<std::string, int> fastest_;
};

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_TRIALS_H_
