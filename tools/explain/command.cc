#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "tools/command_line/commands.h"
#include "tools/explain/explain.h"

namespace ps {

int RunExplainCommand(int argc, char** argv) {
  CommandText text;
  text.program = "gradsieve explain";
  text.description =
      "Says what fields of a job mean: type, unit, range and default. Of a "
      "group, or without a field of the whole job, it lists the fields.";
  text.examples = {
      {"gradsieve explain training.batch_size", "one field"},
      {"gradsieve explain optimizer", "the fields of a group"},
  };
  text.exit_codes = {
      {"0", "printed"},
      {"64", "there is no such field"},
  };
  std::vector<std::string> fields;
  CommandLine command_line(text);
  command_line.AddMoreArguments("FIELD", "Fields or groups of a job.", &fields);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  if (fields.empty()) fields.emplace_back();
  for (size_t i = 0; i < fields.size(); ++i) {
    const absl::StatusOr<std::string> explained = ExplainField(fields[i]);
    if (!explained.ok()) {
      return FailCommand("explain", explained.status(), kExitUsage);
    }
    std::printf("%s%s", i == 0 ? "" : "\n", explained->c_str());
  }
  return kExitDone;
}

}  // namespace ps
