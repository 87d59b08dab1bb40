// Runs side by side, in numbers.
#ifndef TOOLS_REPORT_RUN_COMPARISON_H_
#define TOOLS_REPORT_RUN_COMPARISON_H_

#include <vector>

#include "common/json.h"
#include "tools/report/run_records.h"
#include "tools/report/text_table.h"

namespace ps {

// A row for each run: result, time, throughput and bytes in each direction, and
// in brackets what that is times the first run's.
TextTable ComparisonTable(const std::vector<RunRecords>& runs);

// An array with the same numbers, unrounded. null: not recorded.
Json ComparisonJson(const std::vector<RunRecords>& runs);

}  // namespace ps

#endif  // TOOLS_REPORT_RUN_COMPARISON_H_
