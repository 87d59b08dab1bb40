// `gradsieve report`: pictures of runs.
#ifndef TOOLS_REPORT_COMMAND_H_
#define TOOLS_REPORT_COMMAND_H_

namespace ps {

// argv[0] is "report". Returns the exit code.
int RunReportCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_REPORT_COMMAND_H_
