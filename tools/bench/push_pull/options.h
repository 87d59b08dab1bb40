// The command line of `gradsieve bench push-pull`.
#ifndef TOOLS_BENCH_PUSH_PULL_OPTIONS_H_
#define TOOLS_BENCH_PUSH_PULL_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/flags.h"
#include "proto/config.pb.h"

namespace ps {

struct PushPullOptions {
  int64_t megabytes = 256;  // MiB of fp32: the whole model.
  int64_t bucket_megabytes = 64;
  int64_t workers = 1;      // Processes.
  int64_t connections = 4;  // From each worker.
  int64_t one_of = 1;       // Pushes every one_of-th element.
  int64_t server_threads = 2;
  int64_t iterations = 8;  // Timed in each round, after an untimed one.
  int64_t rounds = 3;
  std::string json;  // Empty: no file.
  // "field=value" for fields of the job that is measured.
  std::vector<std::string> overrides;

  int64_t elements() const { return megabytes << 18; }
  int64_t payload_bytes() const { return megabytes << 20; }
};

// Declares the options; `options` must outlive the parsing.
void AddPushPullOptions(PushPullOptions* options, CommandLine* command_line);

// Errors: kInvalidArgument naming option, value and rule.
absl::Status CheckPushPullOptions(const PushPullOptions& options);

// The job of the parameter server that is measured, without its address.
// Errors: the same, also for invalid overrides.
absl::StatusOr<JobConfig> PushPullJob(const PushPullOptions& options);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_OPTIONS_H_
