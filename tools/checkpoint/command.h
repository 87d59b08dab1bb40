// `gradsieve checkpoint`.
#ifndef TOOLS_CHECKPOINT_COMMAND_H_
#define TOOLS_CHECKPOINT_COMMAND_H_

namespace ps {

// argv[0] is "checkpoint". Returns the exit code.
int RunCheckpointCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_CHECKPOINT_COMMAND_H_
