#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config.h"
#include "common/counted.h"
#include "common/external_model.h"
#include "common/flags.h"
#include "common/host_and_port.h"
#include "common/job_fields.h"
#include "common/machine_limits.h"
#include "common/program.h"
#include "common/run_directory.h"
#include "common/schedule.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "monitoring/http_server.h"
#include "storage/files.h"
#include "storage/process_snapshots.h"
#include "storage/snapshot.h"
#include "tools/checkpoint/change_workers.h"
#include "tools/checkpoint/job_snapshots.h"
#include "tools/checkpoint/reshard.h"
#include "tools/command_line/commands.h"
#include "tools/process/local_cluster.h"
#include "tools/process/port_range.h"
#include "tools/process/signals.h"
#include "tools/process/worker_command.h"
#include "tools/report/run_report.h"
#include "worker/job_check.h"
#include "worker/job_model.h"
#include "worker/worker_memory.h"

namespace ps {
namespace {

constexpr char kEverything[] = "all";  // Of --check.

struct Flags {
  std::string job;
  std::string run_dir;
  std::vector<std::string> overrides;
  std::string check;  // Empty: train.
  bool no_data = false;
  bool resume = false;
  bool tensorboard = false;
  std::string page;
  std::string metrics_listen;
  std::vector<std::string> command;  // Of the worker, if it is not ours.
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve train";
  text.description =
      "Trains a job on this machine: starts its servers and workers as child "
      "processes, shows their logs and the progress, and ends with a summary. "
      "The run directory then holds the resolved config, metrics.jsonl, the "
      "logs, weights.safetensors and summary.json. All processes save a "
      "snapshot every checkpoint.every pushes and at Ctrl-C. A server or "
      "worker "
      "that is killed is started again, and the others wait for it.";
  text.examples = {
      {"gradsieve train job.textproto --set training.epochs=3",
       "the same job, but three epochs"},
      {"gradsieve train job.textproto --check",
       "only check the job and its data"},
      {"gradsieve train job.textproto --check=all",
       "the same, and read every example"},
      {"gradsieve train job.textproto --page",
       "watch it in a browser; the log says where"},
      {"gradsieve train --resume runs/mlp-20261121-143005",
       "go on with a run that was interrupted"},
      {"gradsieve train job.textproto -- python3 train.py",
       "run this script as each worker (docs/pytorch.md)"},
  };
  text.exit_codes = {
      {"0", "trained"},
      {"1", "a server or worker failed; the message names it"},
      {"64",
       "the command line makes no sense, or the run directory or the page's "
       "port is taken"},
      {"75", "a server or worker was killed, or has lost others"},
      {"78", "the job's config or data is wrong"},
      {"130", "interrupted"},
  };
  return text;
}

int Fail(const absl::Status& status, int exit_code) {
  return FailCommand("train", status, exit_code);
}

// So that the run can be used from any folder.
void MakePathsAbsolute(JobConfig* job) {
  if (const std::string& path = job->data().directory(); !path.empty()) {
    job->mutable_data()->set_directory(std::filesystem::absolute(path));
  }
  if (const std::string& path = job->model().initial_weights(); !path.empty()) {
    job->mutable_model()->set_initial_weights(std::filesystem::absolute(path));
  }
}

// The job of a new run, or of one to go on with; its directory comes later.
LocalClusterOptions OptionsOf(const Flags& flags, const JobConfig& config) {
  LocalClusterOptions options;
  options.config = config;
  MakePathsAbsolute(&options.config);
  options.resume = flags.resume;
  options.metrics_listen = flags.metrics_listen;
  if (flags.tensorboard) {
    options.first_worker_arguments.push_back("--tensorboard");
  }
  if (!flags.page.empty()) {
    options.first_worker_arguments.push_back("--page=" + flags.page);
  }
  return options;
}

void SetRunDirectory(const std::string& directory,
                     LocalClusterOptions* options) {
  options->run_directory = directory;
  options->checkpoint_directory =
      std::filesystem::absolute(directory + "/checkpoints");
}

absl::Status CheckAddress(const std::string& subject,
                          const std::string& address) {
  HttpServerOptions options;
  options.subject = subject;
  options.address = address;
  return HttpServer::Start(options).status();
}

// Whether the processes could serve the page and metrics there now. Servers
// listen at sockets, or at free ports.
absl::Status CheckAddresses(const Flags& flags, const ClusterConfig& cluster) {
  const int processes = cluster.num_servers() + cluster.num_workers();
  PS_RETURN_IF_ERROR(
      CheckPortRanges({{"--page", flags.page},
                       {"--metrics-listen", flags.metrics_listen, processes}}));
  if (!flags.page.empty()) {
    PS_RETURN_IF_ERROR(CheckAddress("the page", flags.page));
  }
  if (flags.metrics_listen.empty()) return absl::OkStatus();
  for (int i = 0; i < processes; ++i) {
    PS_RETURN_IF_ERROR(
        CheckAddress("metrics", AddressOfNumber(flags.metrics_listen, i)));
  }
  return absl::OkStatus();
}

// A note if the workers take more memory than this machine has, else empty.
std::string MemoryNote(const WorkerMemory& memory, int num_workers) {
  const int64_t machine = MachineMemoryBytes();
  if (memory.total() <= machine / num_workers) return "";
  return absl::StrCat(Counted(num_workers, "worker"),
                      num_workers == 1 ? " takes about " : " take about ",
                      (num_workers * memory.total()) >> 20,
                      " MiB of memory, and this machine has ", machine >> 20);
}

bool KeepsSnapshots(const LocalClusterOptions& options) {
  return options.config.checkpoint().every() > 0 &&
         options.worker_command.empty();
}

std::string CheckpointDirectory(const LocalClusterOptions& options) {
  const std::string& named = options.config.checkpoint().directory();
  return named.empty() ? options.checkpoint_directory : named;
}

// The latest snapshot of server 0; 0 or less if there is none.
int64_t LatestSnapshot(const LocalClusterOptions& options) {
  const auto numbers = ListSnapshots(
      Files::Real(),
      absl::StrCat(CheckpointDirectory(options), "/",
                   ServerProcess(0, options.config.cluster().num_servers())));
  return numbers.ok() && !numbers->empty() ? numbers->back() : -1;
}

// That the data are those with which the latest snapshots were made.
absl::Status CheckSameDataAsBefore(const std::string& directory,
                                   const std::string& data_text) {
  const auto snapshots = FindJobSnapshots(Files::Real(), directory);
  if (!snapshots.ok()) return absl::OkStatus();  // Reported below.
  for (auto snapshot = snapshots->rbegin(); snapshot != snapshots->rend();
       ++snapshot) {
    for (const ProcessPart& part : snapshot->parts) {
      if (!part.snapshot.ok()) continue;
      const absl::Status same = CheckSameData(
          part.snapshot->note, data_text,
          absl::StrCat("snapshot ", snapshot->number, " of ", part.process));
      if (!same.ok()) return absl::InvalidArgumentError(same.message());
    }
  }
  return absl::OkStatus();
}

std::string HowToTrainAnother(const LocalClusterOptions& options,
                              const std::string& job) {
  return absl::StrCat("Begin another one from its weights:\n  gradsieve train ",
                      job,
                      " --set model.initial_weights=", options.run_directory,
                      "/weights.safetensors --set training.epochs=",
                      options.config.training().epochs());
}

// Makes sure that the run can go on with these options. `job` is the file of
// its job, data_text describes the data that it has now.
absl::Status PrepareResume(const LocalClusterOptions& options,
                           const std::string& job,
                           const std::string& data_text) {
  PS_RETURN_IF_ERROR(
      LockProcesses(Files::Real(), CheckpointDirectory(options)).status());
  // Before the job is written again, with what --set has changed.
  PS_ASSIGN_OR_RETURN(JobConfig before, LoadConfig(job));
  JobConfig now = options.config;
  before.clear_checkpoint();
  now.clear_checkpoint();
  const int num_servers = now.cluster().num_servers();
  const int num_workers = now.cluster().num_workers();
  before.mutable_cluster()->set_num_servers(num_servers);
  before.mutable_cluster()->set_num_workers(num_workers);
  MakePathsAbsolute(&before);
  const bool longer = IsLonger(now.training(), before.training());
  if (longer && DependsOnItsLength(before)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "this run cannot train for longer: ",
        before.training().has_layer_parallel()
            ? "training.layer_parallel divides the epochs"
            : "its learning rate falls to its end at the last update "
              "(schedule.total_updates is 0)",
        ". ", HowToTrainAnother(options, job)));
  }
  const std::string summary = options.run_directory + "/summary.json";
  if (longer) {
    before.mutable_training()->set_epochs(now.training().epochs());
    before.mutable_training()->set_max_iterations(
        now.training().max_iterations());
  } else if (std::filesystem::exists(summary)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the run in ", options.run_directory,
        " is complete; to train it for longer, give --set training.epochs=N or "
        "training.max_iterations=N; to train its job again, give its "
        "job.textproto without --resume"));
  }
  const std::vector<std::string> differences = DescribeConfigDifferences(
      SharedConfigText(now), SharedConfigText(before));
  if (!differences.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a run goes on with the job that it began with; leave out "
                     "the --set of:\n  ",
                     absl::StrJoin(differences, "\n  "),
                     "\nWhat may change: cluster.num_workers and num_servers, "
                     "data.directory, security.directory, checkpoint and "
                     "machine; training.epochs and max_iterations may grow"));
  }
  PS_RETURN_IF_ERROR(
      CheckSameDataAsBefore(CheckpointDirectory(options), data_text));
  if (HasOtherWorkers(Files::Real(), CheckpointDirectory(options),
                      num_workers)) {
    PS_ASSIGN_OR_RETURN(
        const ChangedWorkers changed,
        ChangeWorkers(Files::Real(), CheckpointDirectory(options),
                      num_workers));
    std::printf("%s go on where %d were, at push %lld\n",
                Counted(num_workers, "worker").c_str(), changed.from_workers,
                static_cast<long long>(changed.number));
  }
  if (HasOtherShards(Files::Real(), CheckpointDirectory(options),
                     num_servers)) {
    std::printf("Dealing the snapshots in %s to %s\n",
                CheckpointDirectory(options).c_str(),
                Counted(num_servers, "server").c_str());
    PS_RETURN_IF_ERROR(
        ReshardServers(Files::Real(), CheckpointDirectory(options), num_servers)
            .status());
  }
  if (LatestSnapshot(options) > 0) {
    std::filesystem::remove(summary);
    return absl::OkStatus();
  }
  if (longer && std::filesystem::exists(summary)) {
    return absl::NotFoundError(absl::StrCat(
        "the run in ", options.run_directory,
        " is complete, and was too short for a snapshot (checkpoint.every is ",
        options.config.checkpoint().every(), "), from which it could go on. ",
        HowToTrainAnother(options, job)));
  }
  return absl::NotFoundError(
      absl::StrCat("there is no snapshot in ", CheckpointDirectory(options),
                   " that all servers have; bring back what is missing, or "
                   "begin anew: gradsieve train ",
                   job));
}

// Trains; starts again when a process was killed, but only once from the same
// snapshot, or from the beginning.
absl::Status TrainToTheEnd(LocalClusterOptions options) {
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Interrupts> interrupts,
                      Interrupts::Create());
  options.interrupts = interrupts.get();
  std::set<int64_t> tried;
  // The run may be done, and its summary have been removed.
  if (options.resume) {
    PS_RETURN_IF_ERROR(
        ForgetDoneJob(Files::Real(), CheckpointDirectory(options)));
  }
  for (;;) {
    const absl::Status trained = RunLocalCluster(options);
    if (!absl::IsUnavailable(trained) || !KeepsSnapshots(options) ||
        !tried.insert(LatestSnapshot(options)).second) {
      return trained;
    }
    if (interrupts->Take() > 0) return absl::CancelledError("interrupted");
    options.resume = true;
    std::printf("%s\nAll processes start again from their latest snapshot.\n",
                std::string(trained.message()).c_str());
  }
}

// A run writes the addresses of its servers into its job, but they change.
absl::StatusOr<JobConfig> JobOfRun(const std::string& path,
                                   const std::vector<std::string>& overrides) {
  PS_ASSIGN_OR_RETURN(JobConfig job, LoadConfig(path));
  job.mutable_cluster()->clear_servers();
  return WithOverrides(std::move(job), overrides, path);
}

// Reads the data and plans the model, so that what is wrong is said once and
// before anything is started. This process uses no device unless it ends
// afterwards: a device's memory is for workers.
absl::StatusOr<CheckedJob> CheckHere(JobConfig config, bool ends) {
  const bool on_device = absl::StartsWith(config.machine().device(), "cuda");
  if (!ends) {
    PS_RETURN_IF_ERROR(CheckDevice(config, /*worker_rank=*/0));
    config.mutable_machine()->set_device("cpu");
    config.mutable_training()->set_precision(TrainingConfig::FP32);
  }
  const int log_level = FLAGS_minloglevel;
  FLAGS_minloglevel = google::GLOG_WARNING;
  absl::StatusOr<CheckedJob> checked = CheckTraining(config, /*worker_rank=*/0);
  FLAGS_minloglevel = log_level;
  if (checked.ok() && on_device) checked->memory = WorkerMemory();
  GiveBackMemory();
  return checked;
}

// What to do about a run that is not complete.
std::string HowToGoOn(const LocalClusterOptions& options, int exit_code) {
  if (LatestSnapshot(options) <= 0) {
    return "The incomplete run is in " + options.run_directory;
  }
  // What is wrong with a job or its data stays wrong.
  return absl::StrCat(exit_code == kExitConfig
                          ? "When this is mended, the run goes on with: "
                          : "To go on: ",
                      "gradsieve train --resume ", options.run_directory);
}

// Where the run is recorded, as a new folder. Errors: see Train.
absl::StatusOr<std::string> NewRunDirectory(const Flags& flags,
                                            const JobConfig& config) {
  if (flags.run_dir.empty()) return MakeDefaultRunDirectory(config.name());
  PS_RETURN_IF_ERROR(MakeRunDirectory(flags.run_dir));
  return flags.run_dir;
}

// Runs the user's program as each worker of the job.
int TrainExternal(const Flags& flags, const JobConfig& config) {
  LocalClusterOptions options = OptionsOf(flags, config);
  const absl::Status found = SetWorkerCommand(flags.command, &options);
  const bool only_check = !flags.check.empty();
  if (!found.ok() && !(only_check && flags.command.empty())) {
    return Fail(found,
                absl::IsInvalidArgument(found) ? kExitUsage : kExitFailed);
  }
  if (only_check) {
    std::printf("%s is a valid job; its model is in a program of yours\n",
                flags.job.c_str());
    return kExitDone;
  }
  // The program saves what it goes on from; servers keep logs where the job
  // says so.
  if (config.checkpoint().directory().empty()) {
    options.config.mutable_checkpoint()->set_every(0);
  }
  options.first_worker_arguments.clear();
  if (!flags.page.empty()) {
    options.first_worker_arguments.push_back("GRADSIEVE_PAGE=" + flags.page);
  }
  const absl::Status addresses = CheckAddresses(flags, config.cluster());
  if (!addresses.ok()) return Fail(addresses, kExitUsage);
  const absl::Status can_start = CheckLocalCluster(options);
  if (!can_start.ok()) return Fail(can_start, kExitFailed);
  const absl::StatusOr<std::string> made = NewRunDirectory(flags, config);
  if (!made.ok()) {
    return Fail(made.status(),
                flags.run_dir.empty() ? kExitFailed : kExitUsage);
  }
  options.run_directory = std::filesystem::absolute(*made);
  const absl::Status trained = TrainToTheEnd(options);
  if (absl::IsCancelled(trained)) {
    return Fail(absl::CancelledError("interrupted; all processes are stopped."),
                kExitInterrupted);
  }
  if (!trained.ok()) return Fail(trained, ExitCodeFor(trained));
  std::printf("\nThe run is in %s\n", made->c_str());
  return kExitDone;
}

int Train(const Flags& flags) {
  const std::string job =
      flags.resume ? flags.job + "/job.textproto" : flags.job;
  if (flags.resume && !std::filesystem::exists(job)) {
    return Fail(absl::NotFoundError(absl::StrCat(
                    "--resume needs the directory of a run, and ", job,
                    " is not there; without --resume a new run begins")),
                kExitConfig);
  }
  const absl::StatusOr<JobConfig> config = flags.resume
                                               ? JobOfRun(job, flags.overrides)
                                               : LoadJob(job, flags.overrides);
  if (!config.ok()) return Fail(config.status(), kExitConfig);
  if (flags.no_data) {
    std::printf("%s is a valid job; its data was not read\n", job.c_str());
    return kExitDone;
  }
  const absl::Status usable = CheckWorkerCommand(
      *config, job, {flags.command, flags.resume, flags.tensorboard});
  if (!usable.ok()) return Fail(usable, kExitUsage);
  if (HasExternalModel(*config)) return TrainExternal(flags, *config);
  const absl::Status addresses = CheckAddresses(flags, config->cluster());
  if (!addresses.ok()) return Fail(addresses, kExitUsage);
  LocalClusterOptions options = OptionsOf(flags, *config);
  const absl::Status can_start = CheckLocalCluster(options);
  if (!can_start.ok()) return Fail(can_start, kExitFailed);
  const bool only_check = !flags.check.empty();
  absl::StatusOr<CheckedJob> checked = CheckHere(*config, only_check);
  absl::Status wrong = checked.status();
  if (wrong.ok() && flags.check == kEverything) {
    wrong = CheckEveryExample(*config);
  }
  if (!wrong.ok()) return Fail(wrong, ExitCodeFor(wrong));
  const bool takes_one =
      checked->num_servers != config->cluster().num_servers();
  options.config.mutable_cluster()->set_num_servers(checked->num_servers);
  const std::string too_large =
      MemoryNote(checked->memory, config->cluster().num_workers());
  if (!too_large.empty()) checked->notes.push_back(too_large);
  if (only_check) {
    std::printf("%s is a valid job: %s\n", job.c_str(),
                checked->summary.c_str());
    if (checked->memory.total() > 0) {
      std::printf("each worker takes %s\n", Describe(checked->memory).c_str());
    }
    for (const std::string& note : checked->notes) {
      std::printf("note: %s\n", note.c_str());
    }
    return kExitDone;
  }
  if (takes_one) std::printf("note: %s\n", checked->notes.front().c_str());
  if (!too_large.empty()) std::printf("note: %s\n", too_large.c_str());
  if (checked->memory.total() > 0) {
    options.worker_memory = Describe(checked->memory);
  }
  if (flags.resume) {
    SetRunDirectory(flags.job, &options);
    const absl::Status possible =
        PrepareResume(options, job, checked->data_text);
    if (!possible.ok()) {
      const bool can_be_mended_in_the_job =
          absl::IsInvalidArgument(possible) || absl::IsNotFound(possible);
      return Fail(possible,
                  can_be_mended_in_the_job ? kExitConfig : kExitFailed);
    }
  }
  if (!flags.resume) {
    const absl::StatusOr<std::string> made = NewRunDirectory(flags, *config);
    if (!made.ok()) {
      return Fail(made.status(),
                  flags.run_dir.empty() ? kExitFailed : kExitUsage);
    }
    SetRunDirectory(*made, &options);
  }
  absl::Status trained = TrainToTheEnd(options);
  if (!trained.ok()) {
    const int exit_code =
        absl::IsCancelled(trained) ? kExitInterrupted : ExitCodeFor(trained);
    if (absl::IsCancelled(trained)) {
      trained = absl::CancelledError("interrupted; all processes are stopped.");
    }
    return Fail(absl::Status(trained.code(),
                             absl::StrCat(trained.message(), "\n",
                                          HowToGoOn(options, exit_code))),
                exit_code);
  }
  const absl::StatusOr<std::string> report = RunReport(options.run_directory);
  if (!report.ok()) return Fail(report.status(), kExitFailed);
  std::printf("\n%s\nThe run is in %s\n", report->c_str(),
              options.run_directory.c_str());
  return kExitDone;
}

}  // namespace

int RunTrainCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddArgument(
      "JOB", "The job, a .textproto file; with --resume, a run directory.",
      &flags.job);
  command_line.AddOption("run-dir", "DIR",
                         "New directory for the records of the run; default: "
                         "runs/NAME-TIME.",
                         &flags.run_dir);
  command_line.AddCommand(
      "COMMAND",
      "For a job whose model.name is \"external\": the program that each "
      "worker runs, and its arguments.",
      &flags.command);
  AddOverrides(&command_line, &flags.overrides);
  command_line.AddOptionalValue(
      "check", "all",
      "Only check the job, read its data and plan its model, and report what "
      "is wrong; with =all also read every example.",
      "begin", &flags.check);
  command_line.AddSwitch("no-data",
                         "With --check: do not read the data, which is on "
                         "other machines.",
                         &flags.no_data);
  command_line.AddSwitch(
      "resume",
      "Go on with the run in this directory from its latest snapshot.",
      &flags.resume);
  command_line.AddSwitch(
      "tensorboard",
      "Also write event files for TensorBoard into the run directory.",
      &flags.tensorboard);
  command_line.AddOptionalValue(
      "page", "ADDRESS",
      "Serve a page that shows the training at http://ADDRESS/, for everybody "
      "who reaches ADDRESS, as in 0.0.0.0:8080; with a port alone, or without "
      "ADDRESS at a free port, for this machine. The log says where.",
      "127.0.0.1:0", &flags.page);
  command_line.AddOption(
      "metrics-listen", "ADDRESS",
      "Each process serves metrics to Prometheus: server 0 at "
      "http://ADDRESS/metrics, as in 0.0.0.0:9090 or 9090 for this machine, "
      "the "
      "other servers and then the workers at the ports after it.",
      &flags.metrics_listen);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  if (flags.resume && !flags.run_dir.empty()) {
    return Fail(absl::InvalidArgumentError(
                    "--run-dir is for a new run, and --resume goes on in the "
                    "directory of an old one; give only one of them"),
                kExitUsage);
  }
  if (!flags.check.empty() && flags.check != "begin" &&
      flags.check != kEverything) {
    return Fail(
        absl::InvalidArgumentError(absl::StrCat(
            "--check is \"", flags.check, "\"; must be all, or have no value")),
        kExitUsage);
  }
  if (flags.no_data && flags.check.empty()) {
    return Fail(absl::InvalidArgumentError(
                    "--no-data is for --check; to train, workers need data"),
                kExitUsage);
  }
  return Train(flags);
}

}  // namespace ps
