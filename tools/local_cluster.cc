#include "tools/local_cluster.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/counted.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "common/host_and_port.h"
#include "common/machine_limits.h"
#include "common/stage_workers.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "security/job_certificates.h"
#include "tools/failed_processes.h"
#include "tools/metrics_follower.h"
#include "tools/process_log.h"
#include "tools/progress.h"
#include "tools/run_progress.h"
#include "tools/subprocesses.h"
#include "tools/temporary_directory.h"

namespace ps {
namespace {

// How long a child may take to end after SIGTERM.
constexpr absl::Duration kGrace = absl::Seconds(5);
// The same, if the others cannot save a snapshot any more.
constexpr absl::Duration kFailureGrace = absl::Seconds(1);
// How long servers may take to write their last snapshot.
constexpr absl::Duration kLastWrites = absl::Minutes(1);
// How long a server may take until it listens.
constexpr absl::Duration kServerStart = absl::Seconds(30);
constexpr absl::Duration kServerResume = absl::Minutes(10);
// How long a process that others report as failed may take to end.
constexpr absl::Duration kReportedGrace = absl::Seconds(5);
// Time between two reads of the metrics.
constexpr absl::Duration kTick = absl::Milliseconds(200);

// The name and the state of one child.
struct Member {
  std::string name;  // "server-0"
  int server = -1;   // Its index, or -1.
  int rank = -1;     // Of a worker, or -1.
  ProcessLog log;
};

class LocalCluster {
 public:
  explicit LocalCluster(const LocalClusterOptions& options)
      : options_(options),
        config_(options.config),
        job_path_(options.run_directory + "/job.textproto"),
        children_(SubprocessCallbacks{
            [this](int child, OutputStream, absl::string_view line) {
              Relay(child, line);
            },
            [this](int child, const ProcessExit& exit) {
              Ended(child, exit);
            }}),
        metrics_(options.run_directory + "/metrics.jsonl"),
        progress_(ProgressOptionsFor(/*fd=*/1), &std::cout),
        keeps_snapshots_(config_.checkpoint().every() > 0 &&
                         (!options.checkpoint_directory.empty() ||
                          !config_.checkpoint().directory().empty())),
        keeps_log_(keeps_snapshots_ && config_.checkpoint().durability() ==
                                           CheckpointConfig::EVERY_UPDATE) {}

  absl::Status Run();

 private:
  absl::Status Start(Member member, const ClusterHost& host,
                     const std::vector<std::string>& arguments);
  absl::Status StartServer(int index);
  // Where servers are to listen, and who may call them.
  absl::Status ChooseAddresses();
  absl::Status StartServers();
  absl::Status StartWorker(int rank);
  // worker_command with the variables of this rank.
  std::vector<std::string> CommandOf(int rank) const;
  // Those that were killed and can go on with the others.
  absl::Status StartKilledAgain();
  bool CanComeBack(const Member& member) const;
  absl::Status StartWorkers();
  absl::Status WriteJob() const {
    return WriteFileAtomically(job_path_, ResolvedConfigText(config_));
  }
  // Handles events of children until `done` returns true, a child ends with an
  // error, or Ctrl-C.
  absl::Status PollUntil(absl::Time deadline, bool (LocalCluster::*done)());
  // All servers that have been started; takes their addresses.
  bool StartedListen();
  bool AllEnded() {
    // A worker that the job continues without may hang for ever.
    const int needed = config_.cluster().num_servers() + 1;
    return enough_ || children_.num_running() == 0 || WorkersAreDone() ||
           (MinWorkers(config_) < config_.cluster().num_workers() &&
            num_needed_ended_ == needed);
  }
  // Servers that find that the job was done before do not end, and neither do
  // those that a user's program never calls.
  bool WorkersAreDone() const {
    const absl::Duration writes =
        options_.worker_command.empty() ? kLastWrites : kFailureGrace;
    return workers_started_ && num_workers_running_ == 0 && killed_.empty() &&
           SteadyClock()->Now() > last_worker_ended_ + writes;
  }
  // Why the job cannot go on, once a child has failed.
  absl::Status Failure();
  // DescribeExit, with what is known of the machine's memory.
  std::string Describe(const Member& member, const ProcessExit& exit) const;
  bool IsRunning(const std::string& name) const;
  // Until all have ended, the deadline, or Ctrl-C.
  void WaitForChildren(absl::Time deadline);
  void Relay(int child, absl::string_view line);
  void Ended(int child, const ProcessExit& exit);
  // Shows new metrics and calls is_enough.
  void LookAtMetrics();
  std::string AddressFile(int server) const {
    return absl::StrCat(options_.run_directory, "/server-", server, ".address");
  }

  const LocalClusterOptions options_;
  JobConfig config_;
  const std::string job_path_;
  // With the servers' sockets, or certificates.
  std::unique_ptr<TemporaryDirectory> private_;
  std::unique_ptr<Interrupts> own_interrupts_;
  Interrupts* interrupts_ = nullptr;
  std::vector<Member> members_;  // By number of the child.
  Subprocesses children_;
  MetricsFollower metrics_;
  ProgressLine progress_;
  FailedProcesses failed_;  // Those that the job does not continue without.
  int num_servers_started_ = 0;
  int num_needed_ended_ = 0;  // Servers, and worker 0.
  bool workers_started_ = false;
  int num_workers_running_ = 0;
  absl::Time last_worker_ended_;
  std::vector<int> killed_;  // Children to be started again.
  // The iteration in which a process was last started again, by name.
  std::map<std::string, int64_t> started_again_at_;
  int num_lost_ = 0;  // Workers that the job continues without.
  bool enough_ = false;
  bool stopping_ = false;
  bool saving_ = false;  // The child that failed first had saved a snapshot.
  int master_port_ = 0;  // For worker_command.
  const int64_t kills_before_ = OutOfMemoryKills();
  const bool keeps_snapshots_;
  const bool keeps_log_;
};

ClusterHost HostOf(const std::vector<ClusterHost>& hosts, int number) {
  return hosts.empty() ? ClusterHost() : hosts.at(number);
}

absl::Status LocalCluster::Start(Member member, const ClusterHost& host,
                                 const std::vector<std::string>& arguments) {
  const std::string name = member.name;
  const std::string log =
      absl::StrCat(options_.run_directory, "/logs/", name, ".log");
  const bool again = options_.resume || started_again_at_.count(name) > 0;
  PS_RETURN_IF_ERROR(member.log.Open(log, /*append=*/again));
  members_.push_back(std::move(member));
  std::vector<std::string> all = arguments;
  const bool is_ours =
      members_.back().server >= 0 || options_.worker_command.empty();
  if (is_ours && !options_.metrics_listen.empty()) {
    const int number =
        members_.back().server >= 0
            ? members_.back().server
            : config_.cluster().num_servers() + members_.back().rank;
    all.push_back("--metrics-listen=" +
                  AddressOfNumber(options_.metrics_listen, number));
  }
  if (is_ours && keeps_snapshots_ && config_.checkpoint().directory().empty()) {
    all.push_back("--set=checkpoint.directory=" +
                  options_.checkpoint_directory);
  }
  return Annotate(children_.Start(all, host.network_namespace).status(), name);
}

absl::Status LocalCluster::StartServer(int index) {
  Member member;
  member.name = absl::StrCat("server-", index);
  member.server = index;
  std::vector<std::string> arguments = {options_.server_program,
                                        "--config=" + job_path_,
                                        absl::StrCat("--index=", index)};
  if (!workers_started_) {
    arguments.push_back("--address-file=" + AddressFile(index));
  }
  return Start(std::move(member), HostOf(options_.server_hosts, index),
               arguments);
}

absl::Status LocalCluster::StartKilledAgain() {
  for (const int child : killed_) {
    const int rank = members_[child].rank;
    const int index = members_[child].server;
    started_again_at_[members_[child].name] = metrics_.state().iteration;
    PS_RETURN_IF_ERROR(rank >= 0 ? StartWorker(rank) : StartServer(index));
  }
  killed_.clear();
  return absl::OkStatus();
}

bool LocalCluster::CanComeBack(const Member& member) const {
  const bool can = member.rank < 0
                       ? keeps_log_
                       : WorkersDrift(config_) ||
                             (keeps_log_ && !WorkersHaveStages(config_));
  if (!can) return false;
  // Before the workers run, there is nothing to go on from, nor afterwards.
  if (member.server >= 0 && num_workers_running_ == 0) return false;
  const auto last = started_again_at_.find(member.name);
  return last == started_again_at_.end() ||
         last->second < metrics_.state().iteration;
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

absl::Status LocalCluster::ChooseAddresses() {
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
  return absl::OkStatus();
}

absl::Status LocalCluster::StartServers() {
  // A user's program computes by itself.
  if (config_.machine().worker_threads() == 0 &&
      options_.worker_command.empty()) {
    // Written down, because a run that is resumed elsewhere would give other
    // bits with another number.
    config_.mutable_machine()->set_worker_threads(
        CoresOfEach(config_.cluster().num_workers()));
  }
  config_.mutable_machine()->set_workers_on_machine(
      config_.cluster().num_workers());
  PS_RETURN_IF_ERROR(ChooseAddresses());
  const int num_servers = config_.cluster().num_servers();
  // Files of an earlier attempt.
  for (int i = 0; i < num_servers; ++i) std::filesystem::remove(AddressFile(i));
  // Before they listen, servers read and check their snapshots.
  const absl::Time deadline =
      SteadyClock()->Now() + (options_.resume ? kServerResume : kServerStart);
  for (int i = 0; i < num_servers; ++i) {
    // The others may call server 0, and must know its port.
    if (i == 1 && UsesTcp(options_)) {
      PS_RETURN_IF_ERROR(PollUntil(deadline, &LocalCluster::StartedListen));
    }
    PS_RETURN_IF_ERROR(WriteJob());
    PS_RETURN_IF_ERROR(StartServer(i));
    ++num_servers_started_;
  }
  return PollUntil(deadline, &LocalCluster::StartedListen);
}

bool LocalCluster::StartedListen() {
  for (int i = 0; i < num_servers_started_; ++i) {
    // The file is written under another name and renamed, so if it exists it is
    // complete.
    const absl::StatusOr<std::string> address = ReadFile(AddressFile(i));
    if (!address.ok()) return false;
    config_.mutable_cluster()->set_servers(i, *address);
  }
  return true;
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

absl::Status LocalCluster::StartWorkers() {
  PS_RETURN_IF_ERROR(WriteJob());
  for (int i = 0; i < config_.cluster().num_servers(); ++i) {
    std::filesystem::remove(AddressFile(i));
  }
  if (!options_.worker_command.empty()) {
    PS_ASSIGN_OR_RETURN(master_port_, FreePort());
  }
  workers_started_ = true;
  for (int rank = 0; rank < config_.cluster().num_workers(); ++rank) {
    PS_RETURN_IF_ERROR(StartWorker(rank));
  }
  return PollUntil(absl::InfiniteFuture(), &LocalCluster::AllEnded);
}

std::vector<std::string> LocalCluster::CommandOf(int rank) const {
  const int num_workers = config_.cluster().num_workers();
  std::vector<std::string> command = {
      "/usr/bin/env",
      absl::StrCat("GRADSIEVE_JOB=", job_path_),
      absl::StrCat("GRADSIEVE_BRIDGE=", options_.bridge_program),
      absl::StrCat("RANK=", rank),
      absl::StrCat("LOCAL_RANK=", rank),
      absl::StrCat("WORLD_SIZE=", num_workers),
      "MASTER_ADDR=127.0.0.1",
      absl::StrCat("MASTER_PORT=", master_port_)};
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

absl::Status LocalCluster::StartWorker(int rank) {
  Member member;
  member.name = absl::StrCat("worker-", rank);
  member.rank = rank;
  ++num_workers_running_;
  if (!options_.worker_command.empty()) {
    return Start(std::move(member), HostOf(options_.worker_hosts, rank),
                 CommandOf(rank));
  }
  std::vector<std::string> arguments = {
      options_.worker_program, "--config=" + job_path_,
      absl::StrCat("--rank=", rank), "--run-dir=" + options_.run_directory,
      // From its metrics, all workers' progress is one line.
      "--progress-seconds=0"};
  if (rank == 0) {
    arguments.insert(arguments.end(), options_.first_worker_arguments.begin(),
                     options_.first_worker_arguments.end());
  }
  return Start(std::move(member), HostOf(options_.worker_hosts, rank),
               arguments);
}

absl::Status LocalCluster::PollUntil(absl::Time deadline,
                                     bool (LocalCluster::*done)()) {
  while (!(this->*done)()) {
    PS_RETURN_IF_ERROR(
        children_.Poll(SteadyClock()->Now() + kTick, interrupts_->fd()));
    LookAtMetrics();
    if (interrupts_->Take() > 0) return absl::CancelledError("interrupted");
    if (!failed_.empty()) return Failure();
    PS_RETURN_IF_ERROR(StartKilledAgain());
    if (SteadyClock()->Now() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("the servers do not listen after ",
                       absl::FormatDuration(options_.resume ? kServerResume
                                                            : kServerStart)));
    }
  }
  return failed_.empty() ? absl::OkStatus() : Failure();
}

bool LocalCluster::IsRunning(const std::string& name) const {
  for (size_t child = 0; child < members_.size(); ++child) {
    if (members_[child].name == name &&
        children_.is_running(static_cast<int>(child))) {
      return true;
    }
  }
  return false;
}

absl::Status LocalCluster::Failure() {
  const absl::Time deadline = SteadyClock()->Now() + kReportedGrace;
  while (IsRunning(failed_.Named()) && SteadyClock()->Now() < deadline) {
    PS_RETURN_IF_ERROR(
        children_.Poll(SteadyClock()->Now() + kTick, interrupts_->fd()));
    if (interrupts_->Take() > 0) return absl::CancelledError("interrupted");
  }
  saving_ = failed_.First().exit.code == kExitUnreachable;
  return failed_.Status();
}

void LocalCluster::WaitForChildren(absl::Time deadline) {
  while (children_.num_running() > 0 && SteadyClock()->Now() < deadline &&
         interrupts_->Take() == 0) {
    const absl::Time next_look = SteadyClock()->Now() + kTick;
    if (!children_.Poll(next_look, interrupts_->fd()).ok()) return;
  }
}

void LocalCluster::Relay(int child, absl::string_view line) {
  Member& member = members_[child];
  member.log.Take(line);
  if (!options_.show_log) return;
  progress_.Print(
      absl::StrCat("[", member.name, "] ",
                   progress_.live() ? ShortLogLine(line) : std::string(line)));
}

std::string LocalCluster::Describe(const Member& member,
                                   const ProcessExit& exit) const {
  std::string text = DescribeExit(exit);
  if (exit.signal != SIGKILL) return text;
  const int64_t kills = OutOfMemoryKills() - kills_before_;
  if (kills > 0) {
    text = absl::StrCat(
        "was killed by signal 9: this machine, or its control group, has no "
        "memory left, and the kernel has killed ",
        Counted(kills, "process"), " since the job began");
  }
  if (member.rank >= 0 && !options_.worker_memory.empty()) {
    absl::StrAppend(&text, "; a worker takes ", options_.worker_memory);
  }
  return text;
}

void LocalCluster::Ended(int child, const ProcessExit& exit) {
  const Member& member = members_[child];
  const int rank = member.rank;
  if (rank >= 0) {
    --num_workers_running_;
    last_worker_ended_ = SteadyClock()->Now();
  }
  const bool running = !stopping_ && failed_.empty();
  if (running && exit.signal != 0 && CanComeBack(member)) {
    progress_.Print(absl::StrCat(member.name, " ", Describe(member, exit),
                                 "; it is started again and goes on"));
    killed_.push_back(child);
    return;
  }
  if (rank <= 0) ++num_needed_ended_;
  if (exit.ok() || stopping_) return;
  // The job is done.
  if (workers_started_ && num_workers_running_ == 0 && member.server >= 0) {
    return;
  }
  const std::string& error = member.log.last_error();
  const std::string after_colon = error.empty() ? "" : ": " + error;
  const int may_be_lost = config_.cluster().num_workers() - MinWorkers(config_);
  if (running && rank > 0 && num_lost_ < may_be_lost) {
    ++num_lost_;
    progress_.Print(absl::StrCat(
        member.name, " ", Describe(member, exit), after_colon,
        "; the job needs ", MinWorkers(config_),
        " workers and continues if servers can (consistency.min_workers)"));
    return;
  }
  failed_.Add({member.name, exit, error,
               absl::StrCat(member.name, " ", Describe(member, exit),
                            after_colon, "\nIts log: ", options_.run_directory,
                            "/logs/", member.name, ".log")});
}

void LocalCluster::LookAtMetrics() {
  if (!metrics_.Poll() || metrics_.state().iteration == 0) return;
  if (options_.show_progress) {
    progress_.Update(ProgressOf(metrics_.state()), SteadyClock()->Now());
  }
  if (options_.is_enough) enough_ = enough_ || options_.is_enough();
}

absl::Status LocalCluster::Run() {
  interrupts_ = options_.interrupts;
  if (interrupts_ == nullptr) {
    PS_ASSIGN_OR_RETURN(own_interrupts_, Interrupts::Create());
    interrupts_ = own_interrupts_.get();
  }
  const std::string logs = options_.run_directory + "/logs";
  std::error_code error;
  std::filesystem::create_directories(logs, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("cannot make ", logs));
  }
  absl::Status status = StartServers();
  if (status.ok()) status = StartWorkers();
  progress_.Finish();
  stopping_ = true;
  absl::Duration grace = kGrace;
  if (keeps_snapshots_) {
    // Those that can save a snapshot end by themselves; when one was killed,
    // they cannot.
    const absl::Duration saving =
        absl::Seconds(config_.checkpoint().grace_seconds()) + kGrace;
    grace = absl::IsCancelled(status) ? saving : kFailureGrace;
    // The first to end may have been asked from outside, and the others save.
    if (saving_) WaitForChildren(SteadyClock()->Now() + saving);
  }
  const absl::Status stopped = children_.Terminate(grace, interrupts_->fd());
  return status.ok() ? stopped : status;
}

}  // namespace

absl::Status CheckLocalCluster(const LocalClusterOptions& options) {
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryDirectory> folder,
                      TemporaryDirectory::Create());
  return AddressesOfServers(options, folder->path()).status();
}

absl::Status RunLocalCluster(const LocalClusterOptions& options) {
  return LocalCluster(options).Run();
}

}  // namespace ps
