#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/exit_codes.h"
#include "common/external_model.h"
#include "common/flags.h"
#include "common/host_and_port.h"
#include "common/job_fields.h"
#include "common/program.h"
#include "common/run_directory.h"
#include "common/status_macros.h"
#include "tools/command_line/commands.h"
#include "tools/launch/host_files.h"
#include "tools/launch/hosts.h"
#include "tools/launch/launch.h"
#include "tools/launch/launch_record.h"
#include "tools/launch/programs.h"
#include "tools/launch/remote_process.h"
#include "tools/process/port_range.h"
#include "tools/process/signals.h"
#include "tools/process/worker_command.h"
#include "tools/report/run_report.h"

namespace ps {
namespace {

struct Flags {
  std::string job;
  std::string hosts;
  std::string run_dir;
  std::string ssh;
  ProgramSource source;
  int port = LaunchRecord().port;
  std::vector<std::string> overrides;
  std::vector<std::string> command;  // Of the worker, if it is not ours.
  int hang_minutes =
      static_cast<int>(absl::ToInt64Minutes(LaunchedJob().hang_patience));
  bool restart_when_it_hangs = false;
  bool check = false;
  bool resume = false;
  bool tensorboard = false;
  std::string page;
  std::string metrics_listen;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve launch";
  text.description =
      "Trains a job on several hosts: starts its servers and workers there by "
      "ssh, shows their logs and the progress, and brings the results into the "
      "run directory of this machine. ssh must reach every host without a "
      "password. Processes that are lost are started again and go on from "
      "their latest snapshot; all of them end with this program.";
  text.examples = {
      {"gradsieve launch --hosts=a:4,ann@b:4 job.textproto "
       "--bundle=gradsieve-x86_64.tar.xz",
       "4 workers on each of two hosts, which get the programs"},
      {"gradsieve launch --hosts=a=10.0.0.1:4,b=10.0.0.2:4 job.textproto "
       "--programs=/opt/gradsieve",
       "the programs are there; servers are reached at these addresses"},
      {"gradsieve launch --hosts=a:4,b:4 job.textproto --check",
       "only check the job, and that ssh reaches the hosts"},
      {"gradsieve launch --resume runs/mlp-20261121-143005",
       "go on with a run that was interrupted"},
      {"gradsieve launch --hosts=a:4,b:4 job.textproto -- python3 train.py",
       "run this script, which both hosts have, as each worker "
       "(docs/pytorch.md)"},
  };
  text.exit_codes = {
      {"0", "trained"},
      {"1", "a host, server or worker failed; the message names it"},
      {"64", "the command line makes no sense, or the run directory is taken"},
      {"75", "processes were lost again and again, or the job hung"},
      {"78", "the job's config or data is wrong"},
      {"130", "interrupted"},
  };
  return text;
}

int Fail(const absl::Status& status, int exit_code) {
  return FailCommand("launch", status, exit_code);
}

// What contradicts itself on the command line.
absl::Status CheckFlags(const Flags& flags) {
  const auto wrong = [](const char* what) {
    return absl::InvalidArgumentError(what);
  };
  if (flags.hang_minutes < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--hang-minutes is ", flags.hang_minutes,
                     "; must be at least 0 (0: wait for ever)"));
  }
  if (flags.resume && (!flags.run_dir.empty() || !flags.hosts.empty() ||
                       flags.port != LaunchRecord().port)) {
    return wrong("a run that goes on keeps its directory, hosts and ports");
  }
  if (!flags.resume && flags.hosts.empty()) {
    return wrong("give the hosts, as in --hosts=a:4,b:4");
  }
  for (const std::string& address : {flags.page, flags.metrics_listen}) {
    if (address.empty() || IsHostAndPort(WithOwnHost(address))) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", address, "\" is not an address of hosts; ", kHostAndPortRule,
        ", or a port alone, for the host itself"));
  }
  // A run that goes on, and a check, need none.
  const bool has_source =
      !flags.source.bundle.empty() || !flags.source.folder.empty();
  if ((flags.resume || flags.check) && !has_source) return absl::OkStatus();
  return CheckProgramSource(flags.source);
}

absl::StatusOr<LaunchRecord> RecordOf(const Flags& flags) {
  absl::StatusOr<LaunchRecord> record = LaunchRecord();
  if (flags.resume) {
    record = ReadLaunchRecord(flags.job);
    if (!record.ok()) return record;
  } else {
    record->hosts = flags.hosts;
    record->port = flags.port;
  }
  if (!flags.ssh.empty()) record->ssh = flags.ssh;
  return record;
}

void PrintPlaces(const LaunchedJob& job, const std::string& path) {
  std::printf("%s is a valid job, and ssh reaches its hosts:\n", path.c_str());
  for (size_t host = 0; host < job.hosts.size(); ++host) {
    std::vector<std::string> names;
    for (const PlacedProcess& process : job.processes) {
      if (process.host == static_cast<int>(host)) {
        names.push_back(process.name());
      }
    }
    std::printf("  %s: %s\n", job.hosts[host].name.c_str(),
                absl::StrJoin(names, ", ").c_str());
  }
}

// What to do about a run that is not complete.
std::string HowToGoOn(const LaunchedJob& job, int exit_code) {
  const std::string there =
      absl::StrCat("What the hosts have of this run is in ~/",
                   RemoteRunFolder(job.run_directory));
  if (!job.worker_command.empty()) return there;
  return absl::StrCat(
      exit_code == kExitConfig ? "When this is mended, the run goes on with: "
                               : "To go on: ",
      "gradsieve launch --resume ", job.run_directory, "\n", there);
}

int Train(const LaunchedJob& job, const Flags& flags, Interrupts* interrupts) {
  const absl::Status trained =
      Launch(job, flags.source, flags.resume, interrupts);
  if (!trained.ok()) {
    const int exit_code =
        absl::IsCancelled(trained) ? kExitInterrupted : ExitCodeFor(trained);
    return Fail(
        absl::Status(trained.code(), absl::StrCat(trained.message(), "\n",
                                                  HowToGoOn(job, exit_code))),
        exit_code);
  }
  if (job.worker_command.empty()) {
    const absl::StatusOr<std::string> report = RunReport(job.run_directory);
    if (!report.ok()) return Fail(report.status(), kExitFailed);
    std::printf("\n%s", report->c_str());
  }
  std::printf(
      "\nThe run is in %s\nThe hosts keep its %skeys in ~/%s; remove them when "
      "you do not need them any more\n",
      job.run_directory.c_str(),
      job.worker_command.empty() ? "snapshots and " : "",
      RemoteRunFolder(job.run_directory).c_str());
  return kExitDone;
}

// Whether each port of each host is for one process alone.
absl::Status CheckPorts(const LaunchedJob& job, const Flags& flags) {
  for (const LaunchHost& host : job.hosts) {
    int servers = 0;
    int processes = 0;
    bool has_page = false;
    for (const PlacedProcess& process : job.processes) {
      if (&job.HostOf(process) != &host) continue;
      ++processes;
      if (process.is_server()) ++servers;
      has_page |= !process.is_server() && process.number == 0;
    }
    PS_RETURN_IF_ERROR(Annotate(
        CheckPortRanges(
            {{"--port", ListenAddress(host, job.record.port),
              has_page && !job.worker_command.empty() ? servers + 1 : servers},
             {"--page", flags.page, has_page ? 1 : 0},
             {"--metrics-listen", flags.metrics_listen, processes}}),
        host.name));
  }
  return absl::OkStatus();
}

int Run(const Flags& flags) {
  if (flags.resume && std::filesystem::exists(flags.job + "/summary.json")) {
    return Fail(absl::FailedPreconditionError(
                    absl::StrCat("the run in ", flags.job, " is complete")),
                kExitFailed);
  }
  const absl::StatusOr<LaunchRecord> record = RecordOf(flags);
  if (!record.ok()) return Fail(record.status(), kExitConfig);
  const absl::Status hosts = ParseHosts(record->hosts).status();
  if (!hosts.ok()) return Fail(hosts, kExitUsage);
  const std::string path =
      flags.resume ? flags.job + "/job.textproto" : flags.job;
  absl::StatusOr<LaunchedJob> job = PlaceJob(path, flags.overrides, *record);
  if (!job.ok()) return Fail(job.status(), kExitConfig);
  const absl::Status usable = CheckWorkerCommand(
      job->config, path, {flags.command, flags.resume, flags.tensorboard});
  if (!usable.ok()) return Fail(usable, kExitUsage);
  if (HasExternalModel(job->config)) {
    if (flags.command.empty()) {
      return Fail(CheckModelIsHere(job->config.model()), kExitConfig);
    }
    // The program saves what it goes on from.
    job->config.mutable_checkpoint()->set_every(0);
    job->worker_command = flags.command;
    std::error_code none;  // Then it runs in the home folder.
    job->worker_folder = std::filesystem::current_path(none);
  }
  const absl::Status ports = CheckPorts(*job, flags);
  if (!ports.ok()) return Fail(ports, kExitUsage);
  const auto interrupts = Interrupts::Create();
  if (!interrupts.ok()) return Fail(interrupts.status(), kExitFailed);
  const absl::Status ready = CheckHosts(*job, flags.source, interrupts->get());
  if (absl::IsCancelled(ready)) return Fail(ready, kExitInterrupted);
  if (!ready.ok()) return Fail(ready, kExitFailed);
  if (flags.check) {
    PrintPlaces(*job, path);
    const absl::Status programs = CheckProgramSource(flags.source);
    if (!programs.ok() && !flags.resume) {
      std::printf("note: %s\n", std::string(programs.message()).c_str());
    }
    return kExitDone;
  }
  job->hang_patience = absl::Minutes(flags.hang_minutes);
  job->restart_when_it_hangs = flags.restart_when_it_hangs;
  if (flags.tensorboard) {
    job->first_worker_arguments.push_back("--tensorboard");
  }
  if (!flags.page.empty()) {
    job->first_worker_arguments.push_back(
        (job->worker_command.empty() ? "--page=" : "GRADSIEVE_PAGE=") +
        flags.page);
  }
  job->metrics_listen = flags.metrics_listen;
  job->run_directory = flags.resume ? flags.job : flags.run_dir;
  if (job->run_directory.empty()) {
    absl::StatusOr<std::string> made =
        MakeDefaultRunDirectory(job->config.name());
    if (!made.ok()) return Fail(made.status(), kExitFailed);
    job->run_directory = *std::move(made);
  } else if (!flags.resume) {
    const absl::Status made = MakeRunDirectory(job->run_directory);
    if (!made.ok()) return Fail(made, kExitUsage);
  }
  return Train(*job, flags, interrupts->get());
}

}  // namespace

int RunLaunchCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddArgument(
      "JOB", "The job, a .textproto file; with --resume, a run directory.",
      &flags.job);
  command_line.AddCommand(
      "COMMAND",
      "For a job whose model.name is \"external\": the program that each "
      "worker runs, and its arguments. Every host has it and its script at the "
      "same path; it runs in the folder of the same name as this one if the "
      "host has that, and otherwise in the home folder.",
      &flags.command);
  command_line.AddOption(
      "hosts", "HOSTS",
      "The hosts, as NAME[=ADDRESS][:WORKERS], separated by commas. NAME is "
      "for ssh, and may be USER@NAME; ADDRESS is where other hosts reach it, "
      "by default NAME. Each has one worker by default. Servers are dealt to "
      "them in turn.",
      &flags.hosts);
  command_line.AddOption(
      "bundle", "FILE",
      "Send the programs of this archive, which tools/bundle "
      "made, to hosts that do not have them; by default the "
      "bundle that this program runs from.",
      &flags.source.bundle);
  command_line.AddOption("programs", "DIR",
                         "Every host has DIR/server and DIR/worker; with a "
                         "COMMAND, DIR/bridge in place of the latter.",
                         &flags.source.folder);
  command_line.AddOption("port", "PORT",
                         "The port of the first server on each host.",
                         &flags.port);
  command_line.AddOption("ssh", "COMMAND",
                         "The ssh to use, as in \"ssh -F my_config\"; by "
                         "default ssh.",
                         &flags.ssh);
  command_line.AddOption("run-dir", "DIR",
                         "New directory for the records of the run; default: "
                         "runs/NAME-TIME.",
                         &flags.run_dir);
  command_line.AddOption(
      "hang-minutes", "N",
      "End when no iteration has been made for N minutes while all processes "
      "run and some wait for others; 0: never.",
      &flags.hang_minutes);
  command_line.AddSwitch(
      "restart-when-it-hangs",
      "Then start all processes again, which go on from their "
      "latest snapshot.",
      &flags.restart_when_it_hangs);
  command_line.AddSwitch("tensorboard",
                         "Also write event files for TensorBoard, which are "
                         "in the run directory at the end.",
                         &flags.tensorboard);
  command_line.AddOptionalValue(
      "page", "ADDRESS",
      "Worker 0 serves a page that shows the training at http://ADDRESS/ of "
      "its "
      "host, for everybody who reaches it, as in 0.0.0.0:8080; with a port "
      "alone, or without ADDRESS at a free port, for that host, as for ssh -L. "
      "The log says where.",
      "127.0.0.1:0", &flags.page);
  command_line.AddOption(
      "metrics-listen", "ADDRESS",
      "Each process serves metrics to Prometheus: the first one of a host at "
      "http://ADDRESS/metrics, as in 0.0.0.0:9090, servers before workers, and "
      "the others at the ports after it.",
      &flags.metrics_listen);
  AddOverrides(&command_line, &flags.overrides);
  command_line.AddSwitch(
      "check", "Only check the job, and whether the hosts are ready for it.",
      &flags.check);
  command_line.AddSwitch(
      "resume",
      "Go on with the run in this directory from its latest snapshot.",
      &flags.resume);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  if (!flags.command.empty()) flags.source.worker = "bridge";
  const absl::Status status = CheckFlags(flags);
  if (!status.ok()) return Fail(status, kExitUsage);
  return Run(flags);
}

}  // namespace ps
