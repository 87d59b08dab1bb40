// Scripts with which shells complete the words of `gradsieve`.
#ifndef TOOLS_COMMAND_LINE_COMPLETION_H_
#define TOOLS_COMMAND_LINE_COMPLETION_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// `description`: what DescribeCommands (tools/command_line/commands.h) says of
// the commands of `program`. Both scripts offer commands after commands,
// options after "-", and files elsewhere.
std::string BashCompletion(const std::string& program,
                           absl::string_view description);
std::string ZshCompletion(const std::string& program,
                          absl::string_view description);

}  // namespace ps

#endif  // TOOLS_COMMAND_LINE_COMPLETION_H_
