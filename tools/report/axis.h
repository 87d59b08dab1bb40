// Round numbers along the axis of a plot.
#ifndef TOOLS_REPORT_AXIS_H_
#define TOOLS_REPORT_AXIS_H_

#include <string>
#include <vector>

namespace ps {

struct Tick {
  double value = 0;
  std::string label;  // "0.25", "40 k", "1e-06".
};

// One direction of a plot: values from low to high, which are both ticks.
struct Axis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<Tick> ticks;  // Ascending; at least two.

  // Where `value` lies between low (0) and high (1); outside [0, 1] for a value
  // outside of the axis. NaN for a value that the axis cannot show.
  double Position(double value) const;
};

// The smallest axis that contains [low, high], with about `ticks` steps of 1, 2
// or 5 times a power of ten. Both must be finite, with low at most high. If
// `whole`, there are no ticks between whole numbers.
Axis LinearAxis(double low, double high, int ticks = 6, bool whole = false);

// The same with ticks at powers of ten, and also at 2 and 5 times these if the
// axis spans less than two powers. low must be above 0.
Axis LogarithmicAxis(double low, double high);

}  // namespace ps

#endif  // TOOLS_REPORT_AXIS_H_
