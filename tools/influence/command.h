// `gradsieve influence`: which training examples taught a model what it does.
#ifndef TOOLS_INFLUENCE_COMMAND_H_
#define TOOLS_INFLUENCE_COMMAND_H_

namespace ps {

// argv[0] is "influence". Returns the exit code.
int RunInfluenceCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_COMMAND_H_
