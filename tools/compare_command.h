// `gradsieve compare`.
#ifndef TOOLS_COMPARE_COMMAND_H_
#define TOOLS_COMPARE_COMMAND_H_

namespace ps {

// argv[0] is the command's name. Returns the exit code.
int RunCompareCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_COMPARE_COMMAND_H_
