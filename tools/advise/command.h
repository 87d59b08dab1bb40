// `gradsieve advise`: whether compression pays for a job, before it runs.
#ifndef TOOLS_ADVISE_COMMAND_H_
#define TOOLS_ADVISE_COMMAND_H_

namespace ps {

// argv[0] is "advise". Returns the exit code.
int RunAdviseCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_ADVISE_COMMAND_H_
