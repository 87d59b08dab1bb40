// `gradsieve manifests`: the Kubernetes manifests of one run.
#ifndef TOOLS_MANIFESTS_COMMAND_H_
#define TOOLS_MANIFESTS_COMMAND_H_

namespace ps {

// Returns the exit code.
int RunManifestsCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_MANIFESTS_COMMAND_H_
