#include "tools/commands.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/exit_codes.h"

namespace ps {

int RunCommand(CommandText text, absl::Span<const Command> commands, int argc,
               char** argv) {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    text.commands.push_back({command.name, command.meaning});
    names.push_back(command.name);
  }
  const std::string name = argc > 1 ? argv[1] : "";
  if (name.empty() || name == "--help" || name == "-h" || name == "help") {
    std::fputs(CommandLine(text).Help().c_str(),
               name.empty() ? stderr : stdout);
    return name.empty() ? kExitUsage : kExitDone;
  }
  if (name == "--version") return *CommandLine(text).Run(2, argv);
  for (const Command& command : commands) {
    if (name == command.name) return command.run(argc - 1, argv + 1);
  }
  const std::string nearest = NearestWord(name, names);
  const std::string hint =
      nearest.empty() ? absl::StrCat("; ", text.program, " --help lists them")
                      : absl::StrCat("; did you mean \"", nearest, "\"?");
  std::fprintf(stderr, "%s: there is no command \"%s\"%s\n",
               text.program.c_str(), name.c_str(), hint.c_str());
  return kExitUsage;
}

}  // namespace ps
