#include "tools/bench/push_pull/options.h"

#include <utility>

#include "common/job_fields.h"
#include "common/slice_elements.h"
#include "common/status_macros.h"
#include "tools/bench/processes/parameter_servers.h"
#include "tools/bench/push_pull/pushed_values.h"
#include "tools/command_line/options.h"

namespace ps {
namespace {

// Together they stay within the limit of the values that are pushed.
constexpr int64_t kMaxIterations = 100;
constexpr int64_t kMaxRounds = 100;
static_assert(kMaxRounds * (kMaxIterations + 1) <= kMaxBenchPushes);

}  // namespace

void AddPushPullOptions(PushPullOptions* options, CommandLine* command_line) {
  command_line->AddOption("megabytes", "M", "MiB of the model, in fp32.",
                          &options->megabytes);
  command_line->AddOption("bucket-megabytes", "M",
                          "MiB of its buckets; the last one may be shorter.",
                          &options->bucket_megabytes);
  command_line->AddOption("workers", "N",
                          "Worker processes that push and pull at the same "
                          "time; their sum is reported.",
                          &options->workers);
  command_line->AddOption("connections", "N", "Connections from each worker.",
                          &options->connections);
  command_line->AddOption("server-threads", "N",
                          "Threads of the server's aggregation.",
                          &options->server_threads);
  command_line->AddOption("one-of", "N",
                          "Push every N-th element only, and get back what "
                          "changed; 1: push all, and get back nothing.",
                          &options->one_of);
  command_line->AddOption(
      "iterations", "N",
      "Timed pushes and pulls of the whole model in each round.",
      &options->iterations);
  command_line->AddOption("rounds", "N",
                          "Rounds, in each of which everything is timed once.",
                          &options->rounds);
  AddOverrides(command_line, &options->overrides);
  command_line->AddOption("json", "FILE", "Write the result as a JSON object.",
                          &options->json);
}

absl::Status CheckPushPullOptions(const PushPullOptions& options) {
  PS_RETURN_IF_ERROR(CheckOptionRanges(
      {{"megabytes", options.megabytes, 1, 65536},
       {"bucket-megabytes", options.bucket_megabytes, 1, 65536},
       {"workers", options.workers, 1, kMaxBenchWorkers},
       {"connections", options.connections, 1, 64},
       {"server-threads", options.server_threads, 1, 256},
       {"one-of", options.one_of, 1, 1 << 20},
       {"iterations", options.iterations, 1, kMaxIterations},
       {"rounds", options.rounds, 1, kMaxRounds}}));
  return PushPullJob(options).status();
}

absl::StatusOr<JobConfig> PushPullJob(const PushPullOptions& options) {
  JobConfig job;
  job.set_name("push-pull");
  job.mutable_training()->set_bucket_megabytes(
      static_cast<double>(options.bucket_megabytes));
  job.mutable_compressor()->set_name("none");
  // A rate of 1 keeps weights whole, so that they are known beforehand.
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->set_learning_rate(1);
  ClusterConfig* const cluster = job.mutable_cluster();
  cluster->set_num_workers(static_cast<int>(options.workers));
  cluster->set_num_servers(1);
  cluster->set_connections(static_cast<int>(options.connections));
  // The floor uses TCP, too.
  cluster->set_unix_sockets(false);
  // As `gradsieve train` has them on one machine.
  cluster->set_max_slice_elements(kLongSliceElements);
  if (options.one_of > 1) {
    // The messages of workers that push some of the elements.
    job.mutable_compressor()->set_name("topk");
    job.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  }
  job.mutable_machine()->set_server_threads(
      static_cast<int>(options.server_threads));
  return BenchJob(std::move(job), options.overrides);
}

}  // namespace ps
