#include "tools/command_line/commands.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/exit_codes.h"
#include "common/nearest_word.h"
#include "common/program.h"

namespace ps {
namespace {

// Runs a command with these arguments.
int Run(const Command& command, std::vector<std::string> arguments) {
  std::vector<char*> argv = {const_cast<char*>(command.name)};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return command.run(static_cast<int>(argv.size()) - 1, argv.data());
}

const Command* Find(absl::Span<const Command> commands,
                    const std::string& name) {
  for (const Command& command : commands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

// The full names of all commands of commands that have this name, as in
// "checkpoint export".
std::vector<std::string> FindDeeper(const std::string& program,
                                    absl::Span<const Command> commands,
                                    const std::string& name) {
  std::vector<std::string> found;
  for (const absl::string_view line :
       absl::StrSplit(DescribeCommands(program, commands), '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, '\t');
    if (parts.size() > 2 && parts[1] == "command" && parts[2] == name) {
      // Without the program's own name.
      found.push_back(
          absl::StrCat(parts[0].substr(program.size() + 1), " ", name));
    }
  }
  return found;
}

int FailUnknown(const std::string& program, absl::Span<const Command> commands,
                const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  std::string meant =
      absl::StrJoin(FindDeeper(program, commands, name), "\" or \"");
  if (meant.empty()) meant = NearestWord(name, names);
  const std::string hint =
      meant.empty() ? absl::StrCat("; ", program, " --help lists them")
                    : absl::StrCat("; did you mean \"", meant, "\"?");
  std::fprintf(stderr, "%s: there is no command \"%s\"%s\n", program.c_str(),
               name.c_str(), hint.c_str());
  return kExitUsage;
}

}  // namespace

std::string DescribeCommands(const std::string& program,
                             absl::Span<const Command> commands) {
  std::ostringstream text;
  // Each command makes its table of options inside its own function.
  std::streambuf* const standard_output = std::cout.rdbuf(text.rdbuf());
  for (const Command& command : commands) {
    text << DescribedWord(program, "command", command.name, "",
                          command.meaning);
    Run(command, {kDescribeSwitch});
  }
  std::cout.rdbuf(standard_output);
  return text.str();
}

int RunCommand(CommandText text, absl::Span<const Command> commands, int argc,
               char** argv) {
  std::string name = argc > 1 ? argv[1] : "";
  std::vector<std::string> arguments(argv + std::min(argc, 2), argv + argc);
  if (name == kDescribeSwitch) {
    std::cout << DescribeCommands(text.program, commands);
    return kExitDone;
  }
  if (name == "help" && !arguments.empty()) {
    name = arguments.front();
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  if (name.empty() || name == "--help" || name == "-h" || name == "help") {
    for (const Command& command : commands) {
      text.commands.push_back({command.name, command.meaning});
    }
    std::fputs(CommandLine(text).Help().c_str(),
               name.empty() ? stderr : stdout);
    return name.empty() ? kExitUsage : kExitDone;
  }
  if (name == "--version") return *CommandLine(text).Run(2, argv);
  const Command* const command = Find(commands, name);
  if (command == nullptr) return FailUnknown(text.program, commands, name);
  return Run(*command, arguments);
}

void PrintNow(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int FailCommand(const std::string& command, const absl::Status& status,
                int exit_code) {
  std::fflush(stdout);
  std::fprintf(stderr, "gradsieve %s: %s\n", command.c_str(),
               std::string(status.message()).c_str());
  return exit_code;
}

int EndCommand(const std::string& command, const absl::Status& status,
               std::optional<int> failure) {
  if (status.ok()) return kExitDone;
  return FailCommand(command, status,
                     absl::IsCancelled(status)
                         ? kExitInterrupted
                         : failure.value_or(ExitCodeFor(status)));
}

}  // namespace ps
