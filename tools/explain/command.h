// `gradsieve explain`: what a field of a job means.
#ifndef TOOLS_EXPLAIN_COMMAND_H_
#define TOOLS_EXPLAIN_COMMAND_H_

namespace ps {

// Returns the exit code.
int RunExplainCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_EXPLAIN_COMMAND_H_
