// How far a run is: one live line on a terminal, and now and then a line of its
// own where the output goes to a file or a log.
#ifndef TOOLS_PROGRESS_H_
#define TOOLS_PROGRESS_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace ps {

struct Progress {
  int64_t iteration = 0;  // Done so far.
  int64_t total_iterations = 0;
  double epoch = 0;  // Passes over the data so far.
  double loss = 0;
  double samples_per_second = 0;
  double achieved_ratio = 0;  // Elements sent over elements.
  int64_t bytes_up = 0;       // From workers to servers, so far.
  int64_t bytes_down = 0;
  absl::Duration eta = absl::InfiniteDuration();  // Unknown.
};

// One line of at most `columns`: what does not fit is left out from the right,
// part by part.
std::string FormatProgress(const Progress& progress, int columns);

// What remains if the rest goes as what is done: infinite when nothing is.
absl::Duration EstimateRemaining(int64_t done, int64_t total,
                                 absl::Duration elapsed);

struct ProgressOptions {
  // The live form: a line that is erased and written anew.
  bool live = false;
  int columns = 80;
  // At least this long between two live lines, or two plain ones.
  absl::Duration live_interval = absl::Milliseconds(100);
  absl::Duration plain_interval = absl::Seconds(10);
};

// Live if `fd` is a terminal that can erase a line, as wide as it is now.
ProgressOptions ProgressOptionsFor(int fd);

// Not thread-safe.
class ProgressLine {
 public:
  // `out` is not owned and outlives this object.
  ProgressLine(const ProgressOptions& options, std::ostream* out);

  // Shows `progress`, unless the last one was shown a moment before `now`; the
  // last iteration is always shown.
  void Update(const Progress& progress, absl::Time now);

  // A line of text, above the live line if there is one.
  void Print(absl::string_view line);

  // Ends the live line, which stays. Update() may begin another.
  void Finish();

 private:
  const ProgressOptions options_;
  std::ostream* const out_;
  absl::Time last_shown_ = absl::InfinitePast();
  std::string live_line_;  // Now on the terminal; empty if none is.
};

}  // namespace ps

#endif  // TOOLS_PROGRESS_H_
