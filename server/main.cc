// The program `server`: one parameter server of a job.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/counted.h"
#include "common/exit_codes.h"
#include "common/external_model.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/program.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "monitoring/metrics_server.h"
#include "monitoring/process_metrics.h"
#include "server/server.h"
#include "transport/grpc_log.h"
#include "transport/health_server.h"

namespace ps {
namespace {

struct Flags {
  std::string config;
  int index = -1;
  std::string listen;
  std::string address_file;
  std::string health_listen;
  std::string metrics_listen;
  std::vector<std::string> overrides;
  bool check = false;
};

CommandText Text() {
  CommandText text;
  text.program = "server";
  text.description =
      "Serves one shard of a job's weights: sums what the workers push, runs "
      "the optimizer, answers with what changed. Ends when the last worker "
      "says that it is done.";
  text.examples = {
      {"server --config=job.textproto --index=0",
       "server 0 of a job, at the first address of cluster.servers"},
      {"server --config=job.textproto --index=0 --check",
       "only check that server 0 can start here"},
  };
  text.exit_codes = {
      {"0", "every worker finished"},
      {"1", "the job failed; the last line says why"},
      {"64", "the command line makes no sense"},
      {"75",
       "workers did not register in time, the address is in use, or the job "
       "has "
       "stopped after a snapshot"},
      {"78", "the job's config is wrong"},
      {"143", "ended by SIGTERM"},
  };
  return text;
}

absl::Status Run(const Flags& flags) {
  ServerOptions options;
  PS_ASSIGN_OR_RETURN(options.config, LoadJob(flags.config, flags.overrides));
  const ClusterConfig& cluster = options.config.cluster();
  options.index = flags.index;
  options.listen = flags.listen;
  if (options.listen.empty()) {
    const bool in_job = options.index < cluster.num_servers();
    if (in_job && options.index >= cluster.servers_size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "server ", flags.index, " has no address: cluster.servers in ",
          flags.config, " has ", Counted(cluster.servers_size(), "address"),
          ", counted from 0; add one there, or give --listen"));
    }
    // Server::Start refuses another index.
    if (in_job) options.listen = cluster.servers(options.index);
  }
  if (flags.check) {
    PS_RETURN_IF_ERROR(Server::Check(options));
    std::printf("server %d can start at %s\n", options.index,
                options.listen.c_str());
    return absl::OkStatus();
  }
  // Programs of the user's save no snapshots.
  if (StopsTogether(options.config) && !HasExternalModel(options.config)) {
    options.asked_to_stop = AskedToEnd();
    // Without weights, there is nothing to save, and the process ends at once.
    options.has_weights = [grace =
                               options.config.checkpoint().grace_seconds()] {
      EndWhenAsked(grace);
    };
  }
  std::unique_ptr<HealthServer> health;
  if (!flags.health_listen.empty()) {
    PS_ASSIGN_OR_RETURN(health, HealthServer::Start(flags.health_listen));
  }
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                      Server::Start(options));
  std::unique_ptr<MetricsServer> metrics;
  if (!flags.metrics_listen.empty()) {
    MetricsServer::Sources sources = server->metrics();
    sources.push_back(ProcessMetrics());
    PS_ASSIGN_OR_RETURN(metrics,
                        MetricsServer::Start(flags.metrics_listen, sources));
  }
  if (health != nullptr) health->SetReady(true);
  LOG(INFO) << "server " << options.index << " listens on " << server->address()
            << " for " << Counted(cluster.num_workers(), "worker");
  if (!flags.address_file.empty()) {
    PS_RETURN_IF_ERROR(
        WriteFileAtomically(flags.address_file, server->address()));
  }
  return server->Wait();
}

int Main(int argc, char** argv) {
  InitProgram(argv[0]);
  LimitGrpcLog();
  Flags flags;
  // A StatefulSet numbers its pods by this variable.
  flags.index = NumberFromEnvironment("POD_INDEX", -1);
  CommandLine command_line(Text());
  command_line.AddRequiredOption("config", "JOB", "The job, a .textproto file.",
                                 &flags.config);
  command_line.AddOption(
      "index", "I",
      "Which server this is, from 0; by default the value of "
      "the environment variable POD_INDEX.",
      &flags.index);
  command_line.AddOption("listen", "ADDRESS",
                         "Listen here instead of at cluster.servers[I]; port "
                         "0 takes a free one.",
                         &flags.listen);
  command_line.AddOption(
      "address-file", "FILE",
      "Write the address to this file once the server listens.",
      &flags.address_file);
  command_line.AddOption(
      "health-listen", "ADDRESS",
      "Answer gRPC health checks at this host:port, in plaintext, for "
      "everybody: the services \"live\" and \"ready\".",
      &flags.health_listen);
  command_line.AddOption(
      "metrics-listen", "ADDRESS",
      "Serve metrics to Prometheus at http://ADDRESS/metrics, for everybody.",
      &flags.metrics_listen);
  command_line.AddSwitch("check",
                         "Only check that this server can start: its config, "
                         "certificates and address.",
                         &flags.check);
  AddOverrides(&command_line, &flags.overrides);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  if (flags.index < 0) {
    std::fprintf(stderr,
                 "server: --index=I is missing: which server this is, from 0 "
                 "to cluster.num_servers - 1 (POD_INDEX is not set either)\n");
    return kExitUsage;
  }
  const absl::Status status = Run(flags);
  if (status.ok()) {
    LOG_IF(INFO, !flags.check) << "server " << flags.index << " is done";
  } else {
    LOG(ERROR) << "server " << flags.index << ": " << status.message();
  }
  return ExitCodeFor(status);
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) { ps::EndProgram(ps::Main(argc, argv)); }
