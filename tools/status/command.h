// `gradsieve status`: how far a training is.
#ifndef TOOLS_STATUS_COMMAND_H_
#define TOOLS_STATUS_COMMAND_H_

namespace ps {

// Returns the exit code.
int RunStatusCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_STATUS_COMMAND_H_
