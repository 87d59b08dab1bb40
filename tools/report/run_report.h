// The table at the end of a run, from its summary.json.
#ifndef TOOLS_REPORT_RUN_REPORT_H_
#define TOOLS_REPORT_RUN_REPORT_H_

#include <string>

#include "absl/status/statusor.h"

namespace ps {

// A few lines for people: accuracy, speed, achieved ratio, and the bytes in
// each direction compared with dense. Errors: those of ReadFile; kDataLoss if
// the file is not a summary.
absl::StatusOr<std::string> RunReport(const std::string& run_directory);

}  // namespace ps

#endif  // TOOLS_REPORT_RUN_REPORT_H_
