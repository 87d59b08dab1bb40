// The numbers of runs, as tables.
#ifndef TOOLS_REPORT_RUN_TABLE_H_
#define TOOLS_REPORT_RUN_TABLE_H_

#include <string>
#include <vector>

#include "tools/report/run_records.h"

namespace ps {

// Stands for a number that a run has not recorded.
constexpr char kMissing[] = "–";

// Labels that distinguish the runs: the names of their jobs, or else
// compressor, value code and target ratio, or else the directories.
std::vector<std::string> RunLabels(const std::vector<RunRecords>& runs);

// "97.12 %", of the last evaluation.
std::string LastResult(const RunRecords& run);
// The same with what it is: "accuracy 97.12 %".
std::string LastEvaluation(const RunRecords& run);

// "40", or "40 of 100" of a run that has not ended.
std::string IterationsText(const RunRecords& run);

// The six columns that most readers want, one row for each run. On a narrow
// page each row becomes a block.
std::string MainTable(const std::vector<RunRecords>& runs);

// Everything else: one column for each run.
std::string DetailTable(const std::vector<RunRecords>& runs);

// All of both, as Markdown, with one row for each run.
std::string MarkdownReport(const std::vector<RunRecords>& runs);

}  // namespace ps

#endif  // TOOLS_REPORT_RUN_TABLE_H_
