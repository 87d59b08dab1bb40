// The command line of `gradsieve bench load`.
#ifndef TOOLS_BENCH_LOAD_OPTIONS_H_
#define TOOLS_BENCH_LOAD_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/flags.h"
#include "proto/config.pb.h"

namespace ps {

struct LoadOptions {
  int64_t workers = 64;   // Simulated workers.
  int64_t processes = 2;  // Shared by them; at most `workers` are started.
  int64_t servers = 2;
  int64_t megabytes = 0;  // MiB of fp32; 0: a row of `gradients`, or 16.
  int64_t seconds = 10;
  int64_t iterations = 0;           // 0: as many as `seconds` take.
  std::string gradients;            // A .npy file; empty: generated.
  int64_t ring = 8;                 // Prepared iterations of a worker.
  int64_t payload_megabytes = 512;  // MiB of payloads in each process.
  std::string sweep_workers;        // "1,2,4", replaces `workers`. Empty: none.
  std::string sweep_megabytes;      // Replaces `megabytes`.
  std::string json;                 // Empty: no file.
  // "field=value" for fields of the job.
  std::vector<std::string> overrides;

  int64_t payload_bytes() const { return payload_megabytes << 20; }
};

// Declares the options; `options` must outlive the parsing.
void AddLoadOptions(LoadOptions* options, CommandLine* command_line);

// One load, without a sweep.
struct LoadSettings {
  LoadOptions options;
  int64_t elements = 0;  // In the model.
  JobConfig job;         // Validated; without addresses of servers.
};

// The loads that the options select: one, or one for each value of a sweep.
// Errors: kInvalidArgument naming option, value and rule, also for invalid
// overrides; those of GradientFileElements.
absl::StatusOr<std::vector<LoadSettings>> LoadSettingsOf(
    const LoadOptions& options);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_OPTIONS_H_
