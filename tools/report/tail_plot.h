// How large the elements of a gradient are, compared with the distributions
// that SIDCo fits.
#ifndef TOOLS_REPORT_TAIL_PLOT_H_
#define TOOLS_REPORT_TAIL_PLOT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/json.h"

namespace ps {

// A plot for HtmlReport of the share of the non-zero elements whose magnitude
// exceeds x: as measured, and for the exponential, the gamma and the
// generalized Pareto distribution, each fitted to all magnitudes as by SIDCo's
// first stage. Elements that are not finite are left out. With fewer than two
// different magnitudes there are no lines.
Json TailPlot(const std::string& title, const std::vector<float>& gradient);

// The last row of a float32 .npy file of shape [n] or [rows, n]; an empty
// vector if it has no rows. Errors: those of NpyReader.
absl::StatusOr<std::vector<float>> ReadLastGradient(const std::string& path);

}  // namespace ps

#endif  // TOOLS_REPORT_TAIL_PLOT_H_
