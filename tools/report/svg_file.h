// Plots as SVG files of their own, for documents and papers.
#ifndef TOOLS_REPORT_SVG_FILE_H_
#define TOOLS_REPORT_SVG_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "tools/report/svg_plot.h"

namespace ps {

// A file with title, legend and curves and its own style, light and dark. Empty
// if no point can be shown.
std::string SvgFile(const Plot& plot);

// "test_accuracy.svg" for "Test accuracy".
std::string SvgFileName(const Plot& plot);

}  // namespace ps

#endif  // TOOLS_REPORT_SVG_FILE_H_
