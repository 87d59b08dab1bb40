#include "tools/command_failure.h"

#include <cstdio>

namespace ps {

int FailCommand(const std::string& command, const absl::Status& status,
                int exit_code) {
  std::fflush(stdout);
  std::fprintf(stderr, "gradsieve %s: %s\n", command.c_str(),
               std::string(status.message()).c_str());
  return exit_code;
}

}  // namespace ps
