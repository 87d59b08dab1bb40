// The program `worker`: one worker of a job.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/entropy.h"
#include "common/exit_codes.h"
#include "common/external_model.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/program.h"
#include "common/run_directory.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "monitoring/metrics_server.h"
#include "monitoring/process_metrics.h"
#include "security/credentials.h"
#include "transport/grpc_log.h"
#include "transport/health_server.h"
#include "worker/job_check.h"
#include "worker/join_cluster.h"
#include "worker/page/page_server.h"
#include "worker/records/worker_metrics.h"
#include "worker/trainer.h"

namespace ps {
namespace {

struct Flags {
  std::string config;
  int rank = -1;
  std::string run_dir;
  int progress_seconds = 10;
  bool check = false;
  std::string health_listen;
  std::string metrics_listen;
  bool tensorboard = false;
  std::string page;
  std::vector<std::string> overrides;
};

CommandText Text() {
  CommandText text;
  text.program = "worker";
  text.description =
      "Trains a copy of a job's model on its share of the data, sends sieved "
      "gradients to the servers and takes new weights from them. Waits for "
      "servers that have not started yet.";
  text.examples = {
      {"worker --config=job.textproto --rank=0 --run-dir=runs/first",
       "worker 0, which also evaluates and records the run"},
      {"worker --config=job.textproto --rank=1 --check",
       "only check that worker 1 can begin on this machine"},
  };
  text.exit_codes = {
      {"0", "the job is done"},
      {"1", "the job failed; the last line says why"},
      {"64", "the command line makes no sense"},
      {"75",
       "a server cannot be reached, or was lost; or the job has stopped after "
       "a "
       "snapshot"},
      {"78", "the job's config or data is wrong; the last line says why"},
      {"143", "ended by SIGTERM"},
  };
  return text;
}

// Returns the directory in which worker 0 records a run by default. A restarted
// worker of a job with snapshots must find it.
absl::StatusOr<std::string> DefaultRunDirectoryOf(const JobConfig& config) {
  if (!KeepsSnapshots(config)) return MakeDefaultRunDirectory(config.name());
  return absl::StrCat(config.checkpoint().directory(), "/run");
}

absl::Status Check(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const JobConfig config,
                      LoadJob(flags.config, flags.overrides));
  PS_RETURN_IF_ERROR(CheckRank(config, flags.rank));
  PS_RETURN_IF_ERROR(CheckPorts(config.cluster()));
  CredentialsOptions credentials;
  credentials.config = &config;
  credentials.self = {config.name(), Role::kWorker, flags.rank};
  PS_RETURN_IF_ERROR(Credentials::Create(credentials).status());
  PS_ASSIGN_OR_RETURN(const CheckedJob job, CheckTraining(config, flags.rank));
  std::printf("worker %d can begin: %s\n", flags.rank, job.summary.c_str());
  if (job.memory.total() > 0) {
    std::printf("it takes %s\n", Describe(job.memory).c_str());
  }
  for (const std::string& note : job.notes) {
    std::printf("note: %s\n", note.c_str());
  }
  return absl::OkStatus();
}

absl::Status Run(const Flags& flags) {
  if (flags.check) return Check(flags);
  TrainerOptions options;
  PS_ASSIGN_OR_RETURN(options.config, LoadJob(flags.config, flags.overrides));
  // Before a folder for its run is made.
  PS_RETURN_IF_ERROR(CheckModelIsHere(options.config.model()));
  options.worker_rank = flags.rank;
  // This is the only random number that must differ between runs.
  options.incarnation = Entropy();
  options.name = ProcessName();
  options.run_directory = flags.run_dir;
  if (flags.rank == 0 && flags.run_dir.empty()) {
    PS_ASSIGN_OR_RETURN(options.run_directory,
                        DefaultRunDirectoryOf(options.config));
    LOG(INFO) << "worker 0 records the run in " << options.run_directory
              << " (--run-dir)";
  }
  options.progress_interval = absl::Seconds(flags.progress_seconds);
  options.tensorboard = flags.tensorboard;
  if (StopsTogether(options.config)) {
    // Until the first call, when training begins, there is nothing to save, and
    // the process ends at once.
    const int grace = options.config.checkpoint().grace_seconds();
    options.asked_to_stop = [grace, installed = false]() mutable {
      if (!installed) EndWhenAsked(grace);
      installed = true;
      return AskedToEnd()->load();
    };
  }
  std::unique_ptr<HealthServer> health;
  if (!flags.health_listen.empty()) {
    PS_ASSIGN_OR_RETURN(health, HealthServer::Start(flags.health_listen));
    options.joined = [&health] { health->SetReady(true); };
  }
  WorkerMetrics metrics(flags.rank);
  std::unique_ptr<MetricsServer> metrics_server;
  if (!flags.metrics_listen.empty()) {
    MetricsServer::Sources sources = metrics.sources();
    sources.push_back(ProcessMetrics());
    PS_ASSIGN_OR_RETURN(metrics_server,
                        MetricsServer::Start(flags.metrics_listen, sources));
    options.observers.push_back(&metrics);
  }
  std::unique_ptr<PageServer> page;
  if (!flags.page.empty() && flags.rank == 0) {
    PageServerOptions server;
    server.address = flags.page;
    server.config = &options.config;
    server.run_directory = options.run_directory;
    PS_ASSIGN_OR_RETURN(page, PageServer::Start(server));
    options.observers.push_back(page->observer());
    LOG(INFO) << "the page of this job is " << page->url();
  }
  return Train(options).status();
}

int Main(int argc, char** argv) {
  InitProgram(argv[0]);
  LimitGrpcLog();
  Flags flags;
  // An Indexed Job numbers its pods by this variable.
  flags.rank = NumberFromEnvironment("JOB_COMPLETION_INDEX", -1);
  CommandLine command_line(Text());
  command_line.AddRequiredOption("config", "JOB", "The job, a .textproto file.",
                                 &flags.config);
  command_line.AddOption(
      "rank", "R",
      "Which worker this is, from 0; by default the value of "
      "the environment variable JOB_COMPLETION_INDEX.",
      &flags.rank);
  command_line.AddOption("run-dir", "DIR",
                         "Where worker 0 records metrics, weights and a "
                         "summary; default: runs/NAME-TIME, or "
                         "checkpoint.directory/run for a job with snapshots.",
                         &flags.run_dir);
  command_line.AddOption("progress-seconds", "S",
                         "Log the progress every S seconds; 0: never.",
                         &flags.progress_seconds);
  command_line.AddSwitch("check",
                         "Only check that this worker can begin: reads the "
                         "data, plans the model.",
                         &flags.check);
  command_line.AddOption(
      "health-listen", "ADDRESS",
      "Answer gRPC health checks at this host:port, in plaintext, for "
      "everybody: the services \"live\" and \"ready\".",
      &flags.health_listen);
  command_line.AddOption(
      "metrics-listen", "ADDRESS",
      "Serve metrics to Prometheus at http://ADDRESS/metrics, for everybody.",
      &flags.metrics_listen);
  command_line.AddSwitch("tensorboard",
                         "Worker 0 also writes event files for TensorBoard "
                         "into the run directory.",
                         &flags.tensorboard);
  command_line.AddOptionalValue(
      "page", "ADDRESS",
      "Worker 0 serves a page that shows the training at http://ADDRESS/, for "
      "everybody who reaches ADDRESS, as in 0.0.0.0:8080; with a port alone, "
      "or without ADDRESS at a free port, for this machine.",
      "127.0.0.1:0", &flags.page);
  AddOverrides(&command_line, &flags.overrides);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  if (flags.rank < 0) {
    std::fprintf(stderr,
                 "worker: --rank=R is missing: which worker this is, from 0 to "
                 "cluster.num_workers - 1 (JOB_COMPLETION_INDEX is not set "
                 "either)\n");
    return kExitUsage;
  }
  const absl::Status status = Run(flags);
  if (absl::IsCancelled(status)) {
    LOG(INFO) << "worker " << flags.rank << ": " << status.message();
    return kExitDone;
  }
  if (status.ok()) {
    LOG_IF(INFO, !flags.check) << "worker " << flags.rank << " is done";
  } else {
    LOG(ERROR) << "worker " << flags.rank << ": " << status.message();
  }
  return ExitCodeFor(status);
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) { ps::EndProgram(ps::Main(argc, argv)); }
