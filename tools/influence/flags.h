// The command line of `gradsieve influence`.
#ifndef TOOLS_INFLUENCE_FLAGS_H_
#define TOOLS_INFLUENCE_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/flags.h"
#include "tools/evaluate/evaluated_job.h"
#include "tools/influence/queries.h"

namespace ps {

struct InfluenceFlags {
  EvaluatedJobFlags evaluated;  // Its `job` is the run; `weights` is not used.
  std::string snapshots;        // Empty: in the run.
  std::string checkpoints = "spread:5";
  std::string layers = "last";
  bool no_bias = false;
  bool self = false;
  QueryFlags query;
  std::string mislabelled;  // This file and those below: empty for none.
  int64_t top = 10;
  int64_t processes = 0;  // 0: as many as processors.
  std::string sketches;
  int64_t sketch_size = 1024;
  std::string json;
  std::string page;
};

CommandText InfluenceHelp();

// Declares the argument RUN and all options.
void AddInfluenceOptions(InfluenceFlags* flags, CommandLine* command_line);

// Errors: kInvalidArgument for values that are not possible, or that contradict
// each other.
absl::Status CheckInfluenceFlags(const InfluenceFlags& flags);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_FLAGS_H_
