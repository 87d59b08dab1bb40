#include "tools/bench/load/options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job_fields.h"
#include "common/status_macros.h"
#include "tools/bench/compressors/options.h"
#include "tools/bench/load/gradient_source.h"
#include "tools/bench/processes/parameter_servers.h"
#include "tools/command_line/compressor_argument.h"
#include "tools/command_line/options.h"

namespace ps {
namespace {

constexpr int64_t kMaxMegabytes = 65536;  // As in `gradsieve bench push-pull`.
// As for cluster.num_workers and cluster.num_servers.
constexpr int64_t kMaxWorkers = 1024;
constexpr int64_t kMaxServers = 256;
constexpr int64_t kMaxProcesses = 64;
constexpr int64_t kMaxSeconds = 30 * 86400;
constexpr int64_t kMaxIterations = int64_t{1} << 32;
constexpr int64_t kMaxRing = 1024;

constexpr int64_t kDefaultMegabytes = 16;

absl::Status CheckSettings(const LoadOptions& options) {
  return CheckOptionRanges(
      {{"workers", options.workers, 1, kMaxWorkers},
       {"processes", options.processes, 1, kMaxProcesses},
       {"servers", options.servers, 1, kMaxServers},
       {"megabytes", options.megabytes, 0, kMaxMegabytes},
       {"seconds", options.seconds, 1, kMaxSeconds},
       {"iterations", options.iterations, 0, kMaxIterations},
       {"ring", options.ring, 1, kMaxRing},
       {"payload-megabytes", options.payload_megabytes, 1, kMaxMegabytes}});
}

absl::StatusOr<JobConfig> JobOf(const LoadOptions& options) {
  JobConfig job;
  job.set_name("load");
  // Gives large models several buckets, as in jobs with overlap.
  job.mutable_training()->set_bucket_megabytes(64);
  job.mutable_compressor()->set_name("sidco_e");
  job.mutable_compressor()->set_ratio(0.001);
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->set_learning_rate(1);
  job.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  ClusterConfig* const cluster = job.mutable_cluster();
  cluster->set_num_workers(static_cast<int>(options.workers));
  cluster->set_num_servers(static_cast<int>(options.servers));
  // The bench stands for separate machines, which cannot use them.
  cluster->set_unix_sockets(false);
  PS_ASSIGN_OR_RETURN(job, BenchJob(std::move(job), options.overrides));
  if (NeedsTensorShapes(job.compressor().name())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "compressor.name is ", job.compressor().name(),
        ", which looks at each tensor of a model; a load has only a "
        "vector"));
  }
  return job;
}

absl::StatusOr<LoadSettings> SettingsOf(const LoadOptions& options) {
  PS_RETURN_IF_ERROR(CheckSettings(options));
  LoadSettings settings;
  settings.options = options;
  PS_ASSIGN_OR_RETURN(settings.job, JobOf(options));
  int64_t of_file = 0;
  if (!options.gradients.empty()) {
    PS_ASSIGN_OR_RETURN(of_file, GradientFileElements(options.gradients));
  }
  settings.elements = options.megabytes > 0 ? options.megabytes << 18
                      : of_file > 0         ? of_file
                                            : kDefaultMegabytes << 18;
  return settings;
}

}  // namespace

void AddLoadOptions(LoadOptions* options, CommandLine* command_line) {
  command_line->AddOption("workers", "N", "Simulated workers.",
                          &options->workers);
  command_line->AddOption(
      "processes", "N", "Processes that the workers share, with a thread each.",
      &options->processes);
  command_line->AddOption("servers", "N", "Server processes.",
                          &options->servers);
  command_line->AddOption("megabytes", "M",
                          "MiB of the model, in fp32; 0: a row of --gradients, "
                          "or 16.",
                          &options->megabytes);
  command_line->AddOption("seconds", "S",
                          "Duration of the load, or of each load of a sweep.",
                          &options->seconds);
  command_line->AddOption(
      "iterations", "N",
      "Number of iterations, whatever time they take; 0: as "
      "many as --seconds allows.",
      &options->iterations);
  command_line->AddOption("gradients", "FILE",
                          "A .npy file of gradients, as "
                          "training.dump_gradients writes it; without it they "
                          "are generated.",
                          &options->gradients);
  command_line->AddOption("ring", "N",
                          "Iterations of a worker that are prepared and then "
                          "replayed again and again.",
                          &options->ring);
  command_line->AddOption(
      "payload-megabytes", "M",
      "Approximate limit in MiB for the prepared payloads of "
      "each worker process; if it is too low, workers share "
      "payloads.",
      &options->payload_megabytes);
  command_line->AddOption("sweep-workers", "N,N,...",
                          "Run a load for each number of workers.",
                          &options->sweep_workers);
  command_line->AddOption("sweep-megabytes", "M,M,...",
                          "Run a load for each size of the model, in MiB.",
                          &options->sweep_megabytes);
  AddOverrides(command_line, &options->overrides);
  command_line->AddOption("json", "FILE", "Write the result as a JSON object.",
                          &options->json);
}

absl::StatusOr<std::vector<LoadSettings>> LoadSettingsOf(
    const LoadOptions& options) {
  if (!options.sweep_workers.empty() && !options.sweep_megabytes.empty()) {
    return absl::InvalidArgumentError(
        "--sweep-workers and --sweep-megabytes exclude each other");
  }
  std::vector<LoadSettings> all;
  const auto sweep = [&](absl::string_view option, const std::string& text,
                         int64_t LoadOptions::*field) -> absl::Status {
    absl::StatusOr<std::vector<int64_t>> values = ParseSizes(text);
    if (!values.ok()) {
      return Annotate(values.status(), absl::StrCat("--", option));
    }
    for (const int64_t value : *values) {
      LoadOptions one = options;
      one.*field = value;
      PS_ASSIGN_OR_RETURN(LoadSettings settings, SettingsOf(one));
      all.push_back(std::move(settings));
    }
    return absl::OkStatus();
  };
  if (!options.sweep_workers.empty()) {
    PS_RETURN_IF_ERROR(
        sweep("sweep-workers", options.sweep_workers, &LoadOptions::workers));
  } else if (!options.sweep_megabytes.empty()) {
    PS_RETURN_IF_ERROR(sweep("sweep-megabytes", options.sweep_megabytes,
                             &LoadOptions::megabytes));
  } else {
    PS_ASSIGN_OR_RETURN(LoadSettings settings, SettingsOf(options));
    all.push_back(std::move(settings));
  }
  return all;
}

}  // namespace ps
