// `gradsieve model show`: the layers of a network.
#ifndef TOOLS_MODEL_SHOW_H_
#define TOOLS_MODEL_SHOW_H_

namespace ps {

// Returns the exit code.
int RunModelShow(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_MODEL_SHOW_H_
