#include "tools/process/local_cluster.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/counted.h"
#include "common/file.h"
#include "common/host_and_port.h"
#include "common/machine_limits.h"
#include "common/slice_elements.h"
#include "common/stage_workers.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "security/job_certificates.h"
#include "tools/process/find_program.h"
#include "tools/process/temporary_directory.h"
#include "tools/process/worker_command.h"

namespace ps {
namespace {

// How long a server may take until it listens.
constexpr absl::Duration kServerStart = absl::Seconds(30);
// Before they listen, servers read and check their snapshots.
constexpr absl::Duration kServerResume = absl::Minutes(10);

ClusterHost HostOf(const std::vector<ClusterHost>& hosts, int number) {
  return hosts.empty() ? ClusterHost() : hosts.at(number);
}

bool UsesTcp(const LocalClusterOptions& options) {
  return !options.config.cluster().unix_sockets() ||
         !options.server_hosts.empty();
}

// Where servers listen, with sockets in `folder`. Errors: see
// CheckLocalCluster.
absl::StatusOr<std::vector<std::string>> AddressesOfServers(
    const LocalClusterOptions& options, const std::string& folder) {
  std::vector<std::string> addresses;
  for (int i = 0; i < options.config.cluster().num_servers(); ++i) {
    if (UsesTcp(options)) {
      addresses.push_back(
          absl::StrCat(HostOf(options.server_hosts, i).address, ":0"));
      continue;
    }
    addresses.push_back(absl::StrCat("unix:", folder, "/server-", i));
    if (!IsUnixSocket(addresses.back())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the path of the socket ", addresses.back(),
          " is too long; set TMPDIR to a folder with a shorter path"));
    }
  }
  return addresses;
}

// A port of this machine that nobody uses now.
absl::StatusOr<int> FreePort() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (fd.get() < 0 ||
      bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) !=
          0) {
    return absl::ErrnoToStatus(errno, "cannot find a free port");
  }
  return ntohs(address.sin_port);
}

std::vector<JobProcess> ProcessesOf(const ClusterConfig& cluster) {
  std::vector<JobProcess> processes;
  const auto add = [&processes](JobProcess::Kind kind, const char* role,
                                int count) {
    for (int i = 0; i < count; ++i) {
      JobProcess process;
      process.kind = kind;
      process.number = i;
      process.name = absl::StrCat(role, "-", i);
      processes.push_back(std::move(process));
    }
  };
  add(JobProcess::Kind::kServer, "server", cluster.num_servers());
  add(JobProcess::Kind::kWorker, "worker", cluster.num_workers());
  return processes;
}

// Starts the servers first, and the workers when all servers listen.
class LocalLauncher final : public Launcher {
 public:
  explicit LocalLauncher(const LocalClusterOptions& options)
      : options_(options),
        config_(options.config),
        processes_(ProcessesOf(config_.cluster())),
        job_path_(options.run_directory + "/job.textproto"),
        keeps_snapshots_(config_.checkpoint().every() > 0 &&
                         (!options.checkpoint_directory.empty() ||
                          !config_.checkpoint().directory().empty())),
        keeps_log_(keeps_snapshots_ && config_.checkpoint().durability() ==
                                           CheckpointConfig::EVERY_UPDATE) {}

  // To be called first: completes the job.
  absl::Status Prepare();

  // A user's program saves none.
  bool keeps_snapshots() const {
    return keeps_snapshots_ && options_.worker_command.empty();
  }
  std::vector<JobProcess>* processes() { return &processes_; }

  absl::StatusOr<std::optional<Command>> CommandFor(
      const JobProcess& process) override;
  Decision OnFailure(const JobProcess& process, const JobState& job) override;
  bool HasEnough(int64_t /*iteration*/) override {
    return options_.is_enough && options_.is_enough(processes_);
  }

 private:
  // Whether the process can be started, as far as others are concerned; what it
  // has to know is then in the job's file.
  absl::StatusOr<bool> IsReadyFor(const JobProcess& process);
  // Where this process serves metrics; empty: nowhere.
  std::string MetricsAddress(bool is_server, int number) const;
  // worker_command with the variables of this rank.
  std::vector<std::string> UsersCommand(int rank) const;
  // Whether the first servers of this number listen; takes their addresses.
  bool Listen(int num_servers);
  // Whether a process that was killed can go on with the others.
  bool CanComeBack(const JobProcess& process, const JobState& job) const;
  // DescribeExit, with what is known of the machine's memory.
  std::string Describe(const JobProcess& process) const;
  absl::Status WriteJob() const {
    return WriteFileAtomically(job_path_, ResolvedConfigText(config_));
  }
  std::string AddressFile(int server) const {
    return absl::StrCat(options_.run_directory, "/server-", server, ".address");
  }
  void RemoveAddressFiles() const {
    for (int i = 0; i < config_.cluster().num_servers(); ++i) {
      std::filesystem::remove(AddressFile(i));
    }
  }

  const LocalClusterOptions& options_;
  JobConfig config_;
  std::vector<JobProcess> processes_;
  const std::string job_path_;
  const bool keeps_snapshots_;
  const bool keeps_log_;
  JobPrograms programs_;
  // With the servers' sockets, or certificates.
  std::unique_ptr<TemporaryDirectory> private_;
  absl::Time must_listen_;
  bool workers_started_ = false;
  int master_port_ = 0;  // For worker_command.
  int num_lost_ = 0;     // Workers that the job continues without.
  const int64_t kills_before_ = OutOfMemoryKills();
};

absl::Status LocalLauncher::Prepare() {
  PS_ASSIGN_OR_RETURN(
      programs_,
      FindJobPrograms(/*with_worker=*/options_.worker_command.empty()));
  const int num_workers = config_.cluster().num_workers();
  // A user's program computes by itself.
  if (config_.machine().worker_threads() == 0 &&
      options_.worker_command.empty()) {
    // Written down, because a run that is resumed elsewhere would give other
    // bits with another number.
    config_.mutable_machine()->set_worker_threads(CoresOfEach(num_workers));
  }
  config_.mutable_machine()->set_workers_on_machine(num_workers);
  if (options_.server_hosts.empty() &&
      !config_.cluster().has_max_slice_elements()) {
    config_.mutable_cluster()->set_max_slice_elements(kLongSliceElements);
  }
  PS_ASSIGN_OR_RETURN(private_, TemporaryDirectory::Create());
  if (UsesTcp(options_)) {
    PS_RETURN_IF_ERROR(MakeOwnCertificates(private_->path(), &config_));
  }
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                      AddressesOfServers(options_, private_->path()));
  config_.mutable_cluster()->clear_servers();
  for (const std::string& address : addresses) {
    config_.mutable_cluster()->add_servers(address);
  }
  if (!options_.worker_command.empty()) {
    PS_ASSIGN_OR_RETURN(master_port_, FreePort());
  }
  // Files of an earlier attempt.
  RemoveAddressFiles();
  must_listen_ =
      SteadyClock()->Now() + (options_.resume ? kServerResume : kServerStart);
  return absl::OkStatus();
}

bool LocalLauncher::Listen(int num_servers) {
  for (int i = 0; i < num_servers; ++i) {
    // The file is written under another name and renamed, so if it exists it is
    // complete.
    const absl::StatusOr<std::string> address = ReadFile(AddressFile(i));
    if (!address.ok()) return false;
    config_.mutable_cluster()->set_servers(i, *address);
  }
  return true;
}

absl::StatusOr<bool> LocalLauncher::IsReadyFor(const JobProcess& process) {
  if (workers_started_) return true;
  const bool is_worker = process.kind == JobProcess::Kind::kWorker;
  // The other servers may call server 0, and must know its port.
  const bool needs_first = process.number > 0 && UsesTcp(options_);
  const int needed = is_worker     ? config_.cluster().num_servers()
                     : needs_first ? 1
                                   : 0;
  if (!Listen(needed)) {
    if (SteadyClock()->Now() <= must_listen_) return false;
    return absl::DeadlineExceededError(absl::StrCat(
        "the servers do not listen after ",
        absl::FormatDuration(options_.resume ? kServerResume : kServerStart)));
  }
  PS_RETURN_IF_ERROR(WriteJob());
  if (is_worker) {
    RemoveAddressFiles();
    workers_started_ = true;
  }
  return true;
}

std::string LocalLauncher::MetricsAddress(bool is_server, int number) const {
  if (options_.metrics_listen.empty()) return "";
  const int before = is_server ? 0 : config_.cluster().num_servers();
  return AddressOfNumber(options_.metrics_listen, before + number);
}

std::vector<std::string> LocalLauncher::UsersCommand(int rank) const {
  const int num_workers = config_.cluster().num_workers();
  std::vector<std::string> command = {
      "/usr/bin/env", absl::StrCat("GRADSIEVE_JOB=", job_path_),
      absl::StrCat("GRADSIEVE_BRIDGE=", options_.bridge_program)};
  WorkerPlace place;
  place.rank = place.local_rank = rank;
  place.num_workers = place.num_local_workers = num_workers;
  place.master_port = master_port_;
  for (std::string& variable : RankVariables(place)) {
    command.push_back(std::move(variable));
  }
  if (const std::string metrics = MetricsAddress(/*is_server=*/false, rank);
      !metrics.empty()) {
    command.push_back("GRADSIEVE_METRICS_LISTEN=" + metrics);
  }
  if (rank == 0) {
    command.push_back("GRADSIEVE_RUN_DIR=" + options_.run_directory);
    command.insert(command.end(), options_.first_worker_arguments.begin(),
                   options_.first_worker_arguments.end());
  }
  // Those that the user has set count.
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    command.push_back(
        absl::StrCat("OMP_NUM_THREADS=", CoresOfEach(num_workers)));
  }
  // So that what it prints is shown at once.
  if (std::getenv("PYTHONUNBUFFERED") == nullptr) {
    command.push_back("PYTHONUNBUFFERED=1");
  }
  command.insert(command.end(), options_.worker_command.begin(),
                 options_.worker_command.end());
  return command;
}

absl::StatusOr<std::optional<Launcher::Command>> LocalLauncher::CommandFor(
    const JobProcess& process) {
  PS_ASSIGN_OR_RETURN(const bool is_ready, IsReadyFor(process));
  if (!is_ready) return std::nullopt;
  const bool is_server = process.kind == JobProcess::Kind::kServer;
  Command command;
  command.network_namespace =
      HostOf(is_server ? options_.server_hosts : options_.worker_hosts,
             process.number)
          .network_namespace;
  std::vector<std::string>& arguments = command.arguments;
  if (!is_server && !options_.worker_command.empty()) {
    arguments = UsersCommand(process.number);
    return command;
  }
  if (is_server) {
    arguments = {programs_.server, "--config=" + job_path_,
                 absl::StrCat("--index=", process.number)};
    if (!workers_started_) {
      arguments.push_back("--address-file=" + AddressFile(process.number));
    }
  } else {
    arguments = {programs_.worker, "--config=" + job_path_,
                 absl::StrCat("--rank=", process.number),
                 "--run-dir=" + options_.run_directory,
                 // From its metrics, all workers' progress is one line.
                 "--progress-seconds=0"};
    if (process.number == 0) {
      arguments.insert(arguments.end(), options_.first_worker_arguments.begin(),
                       options_.first_worker_arguments.end());
    }
  }
  if (const std::string metrics = MetricsAddress(is_server, process.number);
      !metrics.empty()) {
    arguments.push_back("--metrics-listen=" + metrics);
  }
  if (keeps_snapshots_ && config_.checkpoint().directory().empty()) {
    arguments.push_back("--set=checkpoint.directory=" +
                        options_.checkpoint_directory);
  }
  return command;
}

bool LocalLauncher::CanComeBack(const JobProcess& process,
                                const JobState& job) const {
  const bool is_server = process.kind == JobProcess::Kind::kServer;
  const bool can = is_server ? keeps_log_
                             : WorkersDrift(config_) ||
                                   (keeps_log_ && !WorkersHaveStages(config_) &&
                                    options_.worker_command.empty());
  if (!can || process.exit.signal == 0) return false;
  // Before the workers run, there is nothing to go on from, nor afterwards.
  if (is_server && job.workers_running == 0) return false;
  return process.num_starts == 1 || process.started_in < job.iteration;
}

std::string LocalLauncher::Describe(const JobProcess& process) const {
  std::string text = DescribeExit(process.exit);
  if (process.exit.signal != SIGKILL) return text;
  const int64_t kills = OutOfMemoryKills() - kills_before_;
  if (kills > 0) {
    text = absl::StrCat(
        "was killed by signal 9: this machine, or its control group, has no "
        "memory left, and the kernel has killed ",
        Counted(kills, "process"), " since the job began");
  }
  if (process.kind == JobProcess::Kind::kWorker &&
      !options_.worker_memory.empty()) {
    absl::StrAppend(&text, "; a worker takes ", options_.worker_memory);
  }
  return text;
}

Decision LocalLauncher::OnFailure(const JobProcess& process,
                                  const JobState& job) {
  using Action = Decision::Action;
  const bool is_server = process.kind == JobProcess::Kind::kServer;
  const std::string end = absl::StrCat(process.name, " ", Describe(process));
  if (!job.has_failed && CanComeBack(process, job)) {
    return {Action::kStartAgain, end + "; it is started again and goes on"};
  }
  // The job is done.
  if (is_server && workers_started_ && job.workers_running == 0) {
    return {Action::kGoOn, ""};
  }
  // A traceback ends with its reason.
  const bool is_users = !is_server && !options_.worker_command.empty();
  const std::string& error = is_users && process.log.last_error().empty()
                                 ? process.last_line
                                 : process.log.last_error();
  const std::string after_colon = error.empty() ? "" : ": " + error;
  const int may_be_lost = config_.cluster().num_workers() - MinWorkers(config_);
  if (!job.has_failed && !is_server && process.number > 0 &&
      num_lost_ < may_be_lost) {
    ++num_lost_;
    return {Action::kGoOn, absl::StrCat(end, after_colon, "; the job needs ",
                                        MinWorkers(config_),
                                        " workers and continues if servers can "
                                        "(consistency.min_workers)")};
  }
  return {Action::kFail,
          absl::StrCat(end, after_colon, "\nIts log: ", options_.run_directory,
                       "/logs/", process.name, ".log")};
}

}  // namespace

absl::StatusOr<JobPrograms> FindJobPrograms(bool with_worker) {
  JobPrograms programs;
  PS_ASSIGN_OR_RETURN(programs.server, FindProgram("server"));
  if (with_worker) {
    PS_ASSIGN_OR_RETURN(programs.worker, FindProgram("worker"));
  }
  return programs;
}

absl::Status CheckLocalCluster(const LocalClusterOptions& options) {
  PS_RETURN_IF_ERROR(
      FindJobPrograms(/*with_worker=*/options.worker_command.empty()).status());
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryDirectory> folder,
                      TemporaryDirectory::Create());
  return AddressesOfServers(options, folder->path()).status();
}

absl::Status RunLocalCluster(const LocalClusterOptions& options) {
  LocalLauncher launcher(options);
  PS_RETURN_IF_ERROR(launcher.Prepare());
  SupervisorOptions supervised;
  supervised.run_directory = options.run_directory;
  supervised.goes_on = options.resume;
  supervised.min_workers = MinWorkers(options.config);
  supervised.keeps_snapshots = launcher.keeps_snapshots();
  supervised.saving =
      absl::Seconds(options.config.checkpoint().grace_seconds());
  // Servers that a user's program never calls do not end.
  if (!options.worker_command.empty()) {
    supervised.last_writes = absl::Seconds(1);
  }
  supervised.show_log = options.show_log;
  supervised.show_progress = options.show_progress;
  supervised.interrupts = options.interrupts;
  return Supervise(supervised, &launcher, launcher.processes());
}

}  // namespace ps
