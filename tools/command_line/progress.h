// Shows the progress of a run: one live line on a terminal, and separate lines
// from time to time if the output goes to a file or a log.
#ifndef TOOLS_COMMAND_LINE_PROGRESS_H_
#define TOOLS_COMMAND_LINE_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace ps {

struct Progress {
  int64_t iteration = 0;  // Done so far.
  int64_t total_iterations = 0;  // 0: a script of the user's decides.
  double epoch = 0;  // Passes over the data so far.
  double loss = 0;
  double samples_per_second = 0;
  double achieved_ratio = 0;  // Elements sent over elements.
  int64_t bytes_up = 0;       // From workers to servers, so far.
  int64_t bytes_down = 0;
  absl::Duration eta = absl::InfiniteDuration();  // Infinite: unknown.
};

// One line of at most `columns` characters. Parts that do not fit are left out,
// from the right.
std::string FormatProgress(const Progress& progress, int columns);

// The remaining time at the average speed so far; infinite if nothing is done.
absl::Duration EstimateRemaining(int64_t done, int64_t total,
                                 absl::Duration elapsed);

struct ProgressOptions {
  // Shows a live line that is erased and rewritten.
  bool live = false;
  // The width now; asked before each line, because a window can be resized.
  std::function<int()> columns = [] { return 80; };
  // Shortest time between two live lines, or two plain ones.
  absl::Duration live_interval = absl::Milliseconds(100);
  absl::Duration plain_interval = absl::Seconds(10);
};

// Live, with the terminal's width, if `fd` is a terminal that can erase a line.
ProgressOptions ProgressOptionsFor(int fd);

// Not thread-safe.
class ProgressLine {
 public:
  // `out` is not owned and outlives this object.
  ProgressLine(const ProgressOptions& options, std::ostream* out);

  // Shows `progress` unless less than the interval has passed since the last
  // line; the last iteration is always shown.
  void Update(const Progress& progress, absl::Time now);

  // Prints a line of text, above the live line if there is one.
  void Print(absl::string_view line);

  // Whether people look at a terminal.
  bool live() const { return options_.live; }

  // Ends the live line, which stays. Update() may begin another.
  void Finish();

 private:
  // Erases the live line.
  std::string Erase() const;

  const ProgressOptions options_;
  std::ostream* const out_;
  absl::Time last_shown_ = absl::InfinitePast();
  std::string live_line_;  // Shown on the terminal now; empty if none.
};

}  // namespace ps

#endif  // TOOLS_COMMAND_LINE_PROGRESS_H_
