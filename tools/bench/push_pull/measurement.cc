#include "tools/bench/push_pull/measurement.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "tools/bench/processes/parameter_servers.h"
#include "tools/bench/processes/processes.h"
#include "tools/bench/push_pull/peer.h"

namespace ps {
namespace {

// The workers of one transport, and the process at the other end.
struct Side {
  int server = -1;
  std::vector<int> workers;
};

class Measurement {
 public:
  Measurement(const PushPullOptions& options,
              std::unique_ptr<BenchProcesses> processes)
      : options_(options), processes_(std::move(processes)) {}

  absl::Status StartRawTcp();
  absl::Status StartParameterServer();
  absl::StatusOr<PushPullRound> RunRound();
  absl::Status Finish();

 private:
  absl::StatusOr<int> StartPeer(const std::string& name, const char* role,
                                std::vector<std::string> arguments);
  absl::Status StartWorkers(const std::string& name, const char* role,
                            const std::vector<std::string>& arguments,
                            Side* side);
  absl::StatusOr<TimedPart> Time(const Side& side, PeerRequest::Verb verb);

  const PushPullOptions options_;
  const std::unique_ptr<BenchProcesses> processes_;
  Side raw_;
  Side parameter_server_;
  int64_t pushes_ = 0;  // Per worker of a side, after a round.
};

absl::StatusOr<int> Measurement::StartPeer(const std::string& name,
                                           const char* role,
                                           std::vector<std::string> arguments) {
  arguments.push_back(absl::StrCat("--role=", role));
  arguments.push_back(absl::StrCat("--elements=", options_.elements()));
  return processes_->StartPeer(name, "push-pull", arguments);
}

absl::Status Measurement::StartWorkers(
    const std::string& name, const char* role,
    const std::vector<std::string>& arguments, Side* side) {
  for (int64_t rank = 0; rank < options_.workers; ++rank) {
    std::vector<std::string> with_rank = arguments;
    with_rank.push_back(absl::StrCat("--rank=", rank));
    with_rank.push_back(absl::StrCat("--workers=", options_.workers));
    PS_ASSIGN_OR_RETURN(
        const int worker,
        StartPeer(absl::StrCat(name, " ", rank), role, std::move(with_rank)));
    side->workers.push_back(worker);
  }
  return processes_->AwaitReplies(side->workers).status();
}

absl::Status Measurement::StartRawTcp() {
  PS_ASSIGN_OR_RETURN(raw_.server,
                      StartPeer("raw TCP server", kRawServerRole, {}));
  PS_ASSIGN_OR_RETURN(const auto ready,
                      processes_->AwaitReplies({raw_.server}));
  if (ready[0].size() != 1) {
    return absl::InternalError("the raw TCP server did not say its port");
  }
  return StartWorkers("raw TCP worker", kRawWorkerRole,
                      {absl::StrCat("--port=", ready[0][0]),
                       absl::StrCat("--connections=", options_.connections)},
                      &raw_);
}

absl::Status Measurement::StartParameterServer() {
  PS_ASSIGN_OR_RETURN(const JobConfig job, PushPullJob(options_));
  PS_ASSIGN_OR_RETURN(const ParameterServers servers,
                      StartParameterServers(job, processes_.get()));
  parameter_server_.server = servers.children.front();
  return StartWorkers(
      "worker", kWorkerRole,
      {"--job=" + servers.job_path, absl::StrCat("--one-of=", options_.one_of)},
      &parameter_server_);
}

absl::StatusOr<TimedPart> Measurement::Time(const Side& side,
                                            PeerRequest::Verb verb) {
  // Not timed, because the memory may have been idle for seconds.
  PS_RETURN_IF_ERROR(
      processes_->Ask(side.workers, {verb, /*count=*/1}).status());
  TimedPart part;
  PS_ASSIGN_OR_RETURN(const CpuTime server_before,
                      processes_->CpuTimeOfAll({side.server}));
  PS_ASSIGN_OR_RETURN(const CpuTime workers_before,
                      processes_->CpuTimeOfAll(side.workers));
  PS_ASSIGN_OR_RETURN(
      const auto replies,
      processes_->Ask(side.workers, {verb, options_.iterations}));
  PS_ASSIGN_OR_RETURN(part.server,
                      processes_->CpuTimeOfAll({side.server}, server_before));
  PS_ASSIGN_OR_RETURN(part.workers,
                      processes_->CpuTimeOfAll(side.workers, workers_before));

  int64_t start = std::numeric_limits<int64_t>::max();
  int64_t end = 0;
  for (const std::vector<int64_t>& reply : replies) {
    PS_ASSIGN_OR_RETURN(const PeerTiming timing, ParseTiming(reply));
    start = std::min(start, timing.start_nanoseconds);
    end = std::max(end, timing.end_nanoseconds);
    part.payload_bytes += timing.payload_bytes;
    part.answer_bytes += timing.answer_bytes;
  }
  part.seconds = static_cast<double>(end - start) * 1e-9;
  return part;
}

absl::StatusOr<PushPullRound> Measurement::RunRound() {
  PushPullRound round;
  PS_ASSIGN_OR_RETURN(round.raw_push, Time(raw_, PeerRequest::kPush));
  PS_ASSIGN_OR_RETURN(round.push, Time(parameter_server_, PeerRequest::kPush));
  PS_ASSIGN_OR_RETURN(round.raw_pull, Time(raw_, PeerRequest::kPull));
  PS_ASSIGN_OR_RETURN(round.pull, Time(parameter_server_, PeerRequest::kPull));
  pushes_ += options_.iterations + 1;
  PS_RETURN_IF_ERROR(processes_->Check(raw_.workers, pushes_));
  PS_RETURN_IF_ERROR(processes_->Check(parameter_server_.workers, pushes_));
  return round;
}

absl::Status Measurement::Finish() {
  std::vector<int> workers = raw_.workers;
  workers.insert(workers.end(), parameter_server_.workers.begin(),
                 parameter_server_.workers.end());
  return processes_->Finish(workers);
}

}  // namespace

absl::StatusOr<std::vector<PushPullRound>> MeasurePushPull(
    const PushPullOptions& options,
    const std::function<void(const PushPullRound&)>& on_round) {
  PS_ASSIGN_OR_RETURN(auto processes, BenchProcesses::Create());
  Measurement measurement(options, std::move(processes));
  PS_RETURN_IF_ERROR(measurement.StartRawTcp());
  PS_RETURN_IF_ERROR(measurement.StartParameterServer());
  std::vector<PushPullRound> rounds;
  for (int64_t i = 0; i < options.rounds; ++i) {
    PS_ASSIGN_OR_RETURN(const PushPullRound round, measurement.RunRound());
    rounds.push_back(round);
    on_round(round);
  }
  PS_RETURN_IF_ERROR(measurement.Finish());
  return rounds;
}

}  // namespace ps
