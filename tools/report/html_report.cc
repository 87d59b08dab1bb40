#include "tools/report/html_report.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "tools/report/html_page.h"
#include "tools/report/plot_data.h"
#include "tools/report/report_files.h"
#include "tools/report/run_table.h"

namespace ps {
namespace {

constexpr size_t kMostJobsInTitle = 3;

std::string Title(const std::vector<RunRecords>& runs) {
  std::set<std::string> jobs;
  for (const RunRecords& run : runs) jobs.insert(run.job);
  return jobs.size() > kMostJobsInTitle ? absl::StrCat(runs.size(), " runs")
                                        : absl::StrJoin(jobs, ", ");
}

}  // namespace

std::string HtmlReport(const std::vector<RunRecords>& runs, const Json& more) {
  const std::vector<std::string> labels = RunLabels(runs);
  Json data = {{"heading", "Exchange and compression"},
               {"runs", Json::array()},
               {"plots", more}};
  for (size_t i = 0; i < runs.size(); ++i) {
    data["runs"].push_back(RunPlotData(runs[i], labels[i]));
  }
  HtmlPage page;
  page.heading = Title(runs);
  page.command = "report";
  page.style = kReportCss;
  page.body = absl::StrCat(
      MainTable(runs), "<details><summary>All numbers</summary>\n",
      DetailTable(runs),
      "<p class='note'>Ratios, stages, residuals and the times of an iteration "
      "are worker 0's. Communication is hidden while that worker computes. "
      "Achieved / target and the share within 20 % leave out the first ",
      kSettlingIterations, " iterations.</p></details>\n");
  page.data = JsonText(data, /*indent=*/-1);
  return HtmlText(page);
}

}  // namespace ps
