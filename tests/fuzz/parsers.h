// Everything that reads bytes which another process, a disk or a stranger
// wrote, as functions for fuzzing: they must return, whatever the bytes are.
#ifndef TESTS_FUZZ_PARSERS_H_
#define TESTS_FUZZ_PARSERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ps {

struct FuzzedParser {
  std::string name;
  // Not OK: it does not take them.
  absl::Status (*parse)(absl::string_view bytes);
  // Inputs that it takes, from which others are made.
  std::vector<std::string> seeds;
};

// All of them, in a fixed order.
std::vector<FuzzedParser> FuzzedParsers();

// What other processes send, and their certificates.
std::vector<FuzzedParser> ParsersOfMessages();
// Data, jobs and models, as people give them.
std::vector<FuzzedParser> ParsersOfFiles();
// What processes have written for themselves.
std::vector<FuzzedParser> ParsersOfState();

}  // namespace ps

#endif  // TESTS_FUZZ_PARSERS_H_
