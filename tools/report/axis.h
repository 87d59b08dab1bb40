// Round numbers along the axis of a plot.
#ifndef TOOLS_REPORT_AXIS_H_
#define TOOLS_REPORT_AXIS_H_

#include <string>
#include <vector>

namespace ps {

struct Tick {
  double value = 0;
  std::string label;  // "0.25", "40 k", "2.5 MB", "10⁻⁶".
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

// What the numbers count; the labels say it.
enum class AxisUnit { kNone, kBytes, kSeconds };

struct LinearAxisOptions {
  int ticks = 6;       // About so many.
  bool whole = false;  // No ticks between whole numbers.
  AxisUnit unit = AxisUnit::kNone;
};

// The smallest axis that contains [low, high], with steps of 1, 2 or 5 times a
// power of ten, in bytes times a power of 1000, or in seconds, minutes, hours
// or days. Both must be finite, with low at most high. All labels have the same
// unit and the same number of decimals.
Axis LinearAxis(double low, double high, const LinearAxisOptions& options = {});

// The same with ticks at powers of ten, and also at 2 and 5 times these if the
// axis spans less than two powers. low must be above 0. Either all labels are
// powers of ten or none is.
Axis LogarithmicAxis(double low, double high, AxisUnit unit = AxisUnit::kNone);

}  // namespace ps

#endif  // TOOLS_REPORT_AXIS_H_
