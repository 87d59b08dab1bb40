// Files for pages with plots. A page loads uPlot before kPlotsJs.
#ifndef MONITORING_PLOTS_PLOT_FILES_H_
#define MONITORING_PLOTS_PLOT_FILES_H_

namespace ps {

extern const char kPlotsJs[];
extern const char kPlotsCss[];
// uPlot, of third_party/uplot.
extern const char kUplotJs[];
extern const char kUplotCss[];

}  // namespace ps

#endif  // MONITORING_PLOTS_PLOT_FILES_H_
