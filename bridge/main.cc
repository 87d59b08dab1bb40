// The `bridge` program: one worker of a job whose model is in another process,
// which starts this one.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/dialogue.h"
#include "common/config.h"
#include "common/entropy.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/program.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "glog/logging.h"
#include "monitoring/metrics_server.h"
#include "monitoring/process_metrics.h"
#include "transport/grpc_log.h"
#include "worker/page/page_server.h"
#include "worker/records/training_observer.h"
#include "worker/records/worker_metrics.h"

namespace ps {
namespace {

std::string TextFromEnvironment(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

struct Flags {
  std::string config;
  int rank = -1;
  int socket = -1;
  int parent = 0;
  std::string run_dir;
  std::string page;
  std::string metrics_listen;
  std::vector<std::string> overrides;
};

CommandText Text() {
  CommandText text;
  text.program = "bridge";
  text.description =
      "Connects a training process, which has the model, the data and the "
      "optimizer, with the servers of a job. The Python package gradsieve "
      "starts it; docs/pytorch.md says how a script uses that.";
  text.exit_codes = {
      {"0", "the training process has finished"},
      {"1", "the job failed; the last line says why"},
      {"64", "the command line makes no sense"},
      {"75",
       "a server cannot be reached, or was lost; or the training process has "
       "ended without finishing"},
      {"78", "the job's config is wrong, or the workers' models differ"},
      {"143", "ended by SIGTERM"},
  };
  return text;
}

// Who follows the pushes.
struct Observers {
  explicit Observers(int rank) : metrics(rank) {}

  WorkerMetrics metrics;
  std::unique_ptr<MetricsServer> metrics_server;
  std::unique_ptr<PageServer> page;
  std::vector<TrainingObserver*> all;
};

absl::Status Start(const Flags& flags, const JobConfig& config,
                   Observers* observers) {
  if (!flags.metrics_listen.empty()) {
    MetricsServer::Sources sources = observers->metrics.sources();
    sources.push_back(ProcessMetrics());
    PS_ASSIGN_OR_RETURN(observers->metrics_server,
                        MetricsServer::Start(flags.metrics_listen, sources));
    observers->all.push_back(&observers->metrics);
  }
  if (flags.rank != 0 || flags.page.empty()) return absl::OkStatus();
  PageServerOptions page;
  page.address = flags.page;
  page.config = &config;
  page.run_directory = flags.run_dir;
  PS_ASSIGN_OR_RETURN(observers->page, PageServer::Start(page));
  observers->all.push_back(observers->page->observer());
  std::fprintf(stderr, "the page of this job is %s\n",
               observers->page->url().c_str());
  return absl::OkStatus();
}

absl::Status Run(const Flags& flags) {
  // Readable when that process has ended. glibc has had a function for it only
  // since 2.36.
  const UniqueFd parent(
      static_cast<int>(syscall(SYS_pidfd_open, flags.parent, /*flags=*/0)));
  if (parent.get() < 0 || getppid() != flags.parent) {
    return absl::UnavailableError(absl::StrCat(
        "process ", flags.parent, ", which started this one, has ended"));
  }
  DialogueOptions options;
  options.config = LoadJob(flags.config, flags.overrides);
  options.worker_rank = flags.rank;
  options.incarnation = Entropy();
  options.name = ProcessName(flags.parent);
  options.socket = flags.socket;
  options.process = parent.get();
  Observers observers(flags.rank);
  // Without servers, this process only reads the job.
  if (options.config.ok() && options.config->cluster().servers_size() > 0) {
    if (flags.rank == 0) options.run_directory = flags.run_dir;
    const absl::Status started = Start(flags, *options.config, &observers);
    // The training process hears it.
    if (!started.ok()) options.config = started;
    options.observers = observers.all;
  }
  return Converse(options);
}

int Main(int argc, char** argv) {
  InitProgram(argv[0]);
  LimitGrpcLog();
  const char* const log = std::getenv("GRADSIEVE_LOG");
  if (log == nullptr || absl::string_view(log) != "info") {
    FLAGS_minloglevel = google::GLOG_WARNING;
  }
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddRequiredOption("config", "JOB", "The job, a .textproto file.",
                                 &flags.config);
  command_line.AddRequiredOption("rank", "R", "Which worker this is, from 0.",
                                 &flags.rank);
  command_line.AddRequiredOption(
      "socket", "FD",
      "The inherited descriptor of a socket to the training process.",
      &flags.socket);
  command_line.AddRequiredOption("parent", "PID", "The training process.",
                                 &flags.parent);
  // As options of the program that started the training process.
  flags.run_dir = TextFromEnvironment("GRADSIEVE_RUN_DIR");
  flags.page = TextFromEnvironment("GRADSIEVE_PAGE");
  flags.metrics_listen = TextFromEnvironment("GRADSIEVE_METRICS_LISTEN");
  command_line.AddOption("run-dir", "DIR",
                         "Where worker 0 records metrics and a summary; by "
                         "default the variable GRADSIEVE_RUN_DIR.",
                         &flags.run_dir);
  command_line.AddOption("page", "ADDRESS",
                         "Worker 0 serves a page that shows the training at "
                         "http://ADDRESS/; by default the variable "
                         "GRADSIEVE_PAGE.",
                         &flags.page);
  command_line.AddOption("metrics-listen", "ADDRESS",
                         "Serve metrics to Prometheus at "
                         "http://ADDRESS/metrics; by default the variable "
                         "GRADSIEVE_METRICS_LISTEN.",
                         &flags.metrics_listen);
  AddOverrides(&command_line, &flags.overrides);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  return ExitCodeFor(Run(flags));
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) { ps::EndProgram(ps::Main(argc, argv)); }
