// `gradsieve plan-memory`: the memory that the servers of a job may take.
#ifndef TOOLS_PLAN_MEMORY_COMMAND_H_
#define TOOLS_PLAN_MEMORY_COMMAND_H_

namespace ps {

// Returns the exit code.
int RunPlanMemoryCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_PLAN_MEMORY_COMMAND_H_
