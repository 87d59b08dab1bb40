// `gradsieve model`: the network of a job.
#ifndef TOOLS_MODEL_COMMAND_H_
#define TOOLS_MODEL_COMMAND_H_

namespace ps {

// Returns the exit code.
int RunModelCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_MODEL_COMMAND_H_
