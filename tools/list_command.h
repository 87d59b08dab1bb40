// `gradsieve list`: the plug-ins that a job can name.
#ifndef TOOLS_LIST_COMMAND_H_
#define TOOLS_LIST_COMMAND_H_

namespace ps {

// argv[0] is the command's own name. Returns the exit code.
int RunListCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_LIST_COMMAND_H_
