// Files in every report.
#ifndef TOOLS_REPORT_REPORT_FILES_H_
#define TOOLS_REPORT_REPORT_FILES_H_

namespace ps {

extern const char kReportJs[];
extern const char kReportCss[];

}  // namespace ps

#endif  // TOOLS_REPORT_REPORT_FILES_H_
