// A program, or one of its commands, that consists of subcommands; and all
// commands of `gradsieve`.
#ifndef TOOLS_COMMAND_LINE_COMMANDS_H_
#define TOOLS_COMMAND_LINE_COMMANDS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
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

// Prints to stdout at once.
void PrintNow(const std::string& text);

// Flushes stdout, then prints "gradsieve COMMAND: message" to stderr. Returns
// `exit_code`.
int FailCommand(const std::string& command, const absl::Status& status,
                int exit_code);

// The end of a command: kExitDone for OK, and otherwise FailCommand() with
// kExitInterrupted for kCancelled, and for other errors with `failure` or, by
// default, ExitCodeFor().
int EndCommand(const std::string& command, const absl::Status& status,
               std::optional<int> failure = std::nullopt);

// The commands, which tools/gradsieve.cc lists with their meanings. Each is
// defined in the folder of its name, or else in tools/commands. All have the
// form of Command::run.
int RunAdviseCommand(int argc, char** argv);
int RunBenchCommand(int argc, char** argv);
int RunCertsCommand(int argc, char** argv);
int RunCheckpointCommand(int argc, char** argv);
int RunCompareCommand(int argc, char** argv);
int RunCompressCommand(int argc, char** argv);
int RunDoctorCommand(int argc, char** argv);
int RunEvaluateCommand(int argc, char** argv);
int RunExplainCommand(int argc, char** argv);
int RunInfluenceCommand(int argc, char** argv);
int RunLaunchCommand(int argc, char** argv);
int RunListCommand(int argc, char** argv);
int RunManifestsCommand(int argc, char** argv);
int RunModelCommand(int argc, char** argv);
int RunPlanCommand(int argc, char** argv);
int RunPlanMemoryCommand(int argc, char** argv);
int RunPredictCommand(int argc, char** argv);
int RunReportCommand(int argc, char** argv);
int RunStatusCommand(int argc, char** argv);
int RunTrainCommand(int argc, char** argv);

// Those of `gradsieve bench`.
int RunBenchCompressorsCommand(int argc, char** argv);
int RunBenchLoadCommand(int argc, char** argv);
int RunBenchNetworkCommand(int argc, char** argv);
int RunBenchPushPullCommand(int argc, char** argv);

// Those of `gradsieve model`.
int RunModelExport(int argc, char** argv);
int RunModelImport(int argc, char** argv);
int RunModelShow(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_COMMAND_LINE_COMMANDS_H_
