// `gradsieve train`: a whole job on this machine.
#ifndef TOOLS_TRAIN_COMMAND_H_
#define TOOLS_TRAIN_COMMAND_H_

namespace ps {

// argv[0] is "train". Returns the exit code.
int RunTrainCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_TRAIN_COMMAND_H_
