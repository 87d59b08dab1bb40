// `gradsieve launch`: trains a job on several hosts.
#ifndef TOOLS_LAUNCH_COMMAND_H_
#define TOOLS_LAUNCH_COMMAND_H_

namespace ps {

// Returns the exit code.
int RunLaunchCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_LAUNCH_COMMAND_H_
