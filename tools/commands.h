// A program, or one of its commands, that consists of subcommands.
#ifndef TOOLS_COMMANDS_H_
#define TOOLS_COMMANDS_H_

#include <string>

#include "absl/types/span.h"
#include "common/flags.h"

namespace ps {

struct Command {
  const char* name;
  const char* meaning;
  // argv[0] is the command's own name. Returns the exit code.
  int (*run)(int argc, char** argv);
};

// Runs the command that argv[1] names, or prints the help (`text` with the list
// of commands) or an error. "help COMMAND" is the help of that command, which
// may be a command of a command. Returns the exit code.
int RunCommand(CommandText text, absl::Span<const Command> commands, int argc,
               char** argv);

// What the commands, and the commands of commands, say of their words: see
// DescribedWord in common/flags.h. `program` is what is typed before their
// names. Not thread-safe: standard output is redirected meanwhile.
std::string DescribeCommands(const std::string& program,
                             absl::Span<const Command> commands);

}  // namespace ps

#endif  // TOOLS_COMMANDS_H_
