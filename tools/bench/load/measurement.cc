#include "tools/bench/load/measurement.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "tools/bench/load/replayed_weights.h"
#include "tools/bench/processes/parameter_servers.h"
#include "tools/bench/processes/peer.h"
#include "tools/bench/processes/processes.h"

namespace ps {
namespace {

// Time between two samples of memory.
constexpr absl::Duration kSampleEvery = absl::Seconds(1);
// Target duration of one request to the workers.
constexpr double kBatchSeconds = 0.5;

class Measurement {
 public:
  Measurement(const LoadSettings& settings,
              std::unique_ptr<BenchProcesses> processes)
      : settings_(settings), processes_(std::move(processes)) {}

  absl::Status Start();
  absl::Status Load(
      const std::function<void(const LoadProgress&)>& on_progress);
  absl::Status Verify();
  absl::Status Finish() { return processes_->Finish(workers_); }
  LoadResult& result() { return result_; }

 private:
  absl::Status StartWorkers(const std::string& job_path);
  // Requests batches of iterations until there are enough.
  absl::Status Iterate(
      const std::function<void(const LoadProgress&)>& on_progress);
  // Number of iterations of the next request, after `asked` iterations were
  // requested, of which `done` took `seconds`. 0: no more requests.
  int64_t NextBatch(int64_t asked, int64_t done, double seconds) const;
  void SampleMemory();
  double Seconds() const {
    return static_cast<double>(SteadyNanoseconds() - start_nanoseconds_) * 1e-9;
  }

  const LoadSettings settings_;
  const std::unique_ptr<BenchProcesses> processes_;
  std::vector<int> servers_;
  std::vector<int> workers_;
  int64_t start_nanoseconds_ = 0;
  LoadResult result_;
};

absl::Status Measurement::Start() {
  PS_ASSIGN_OR_RETURN(const ParameterServers servers,
                      StartParameterServers(settings_.job, processes_.get()));
  servers_ = servers.children;
  PS_RETURN_IF_ERROR(StartWorkers(servers.job_path));
  for (size_t i = 0; i < servers_.size(); ++i) {
    result_.server_memory.push_back({absl::StrCat("server ", i), {}});
  }
  for (size_t i = 0; i < workers_.size(); ++i) {
    result_.worker_memory.push_back({absl::StrCat("worker process ", i), {}});
  }
  return absl::OkStatus();
}

absl::Status Measurement::StartWorkers(const std::string& job_path) {
  const LoadOptions& options = settings_.options;
  const int64_t count = std::min(options.processes, options.workers);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = options.workers * i / count;
    const int64_t end = options.workers * (i + 1) / count;
    PS_ASSIGN_OR_RETURN(
        const int child,
        processes_->StartPeer(
            absl::StrCat("worker process ", i), "load",
            {"--job=" + job_path,
             absl::StrCat("--elements=", settings_.elements),
             absl::StrCat("--first-rank=", first),
             absl::StrCat("--end-rank=", end),
             "--gradients=" + options.gradients,
             absl::StrCat("--ring=", options.ring),
             absl::StrCat("--payload-bytes=", options.payload_bytes())}));
    workers_.push_back(child);
  }
  PS_ASSIGN_OR_RETURN(const auto ready, processes_->AwaitReplies(workers_));
  for (const std::vector<int64_t>& numbers : ready) {
    if (numbers.size() != 3 || numbers != ready.front()) {
      return absl::InternalError(
          "worker processes prepared different payloads");
    }
  }
  result_.plan.streams = ready.front()[0];
  result_.plan.ring = ready.front()[1];
  result_.payload_bytes = ready.front()[2];
  result_.worker_processes = count;
  return absl::OkStatus();
}

void Measurement::SampleMemory() {
  const auto sample = [this](const std::vector<int>& children,
                             std::vector<ProcessMemory>* memory) {
    for (size_t i = 0; i < children.size(); ++i) {
      const absl::StatusOr<int64_t> bytes =
          processes_->ResidentBytes(children[i]);
      // If the process has just ended, the call that waits fails with the
      // reason.
      if (bytes.ok()) (*memory)[i].samples.push_back({Seconds(), *bytes});
    }
  };
  sample(servers_, &result_.server_memory);
  sample(workers_, &result_.worker_memory);
}

int64_t Measurement::NextBatch(int64_t asked, int64_t done,
                               double seconds) const {
  // The first request is one iteration, to measure its time.
  const int64_t usual =
      done == 0
          ? 1
          : std::max<int64_t>(1, static_cast<int64_t>(
                                     kBatchSeconds * static_cast<double>(done) /
                                     std::max(seconds, 1e-6)));
  const LoadOptions& options = settings_.options;
  if (options.iterations > 0) {
    return std::min(usual, options.iterations - asked);
  }
  if (seconds >= static_cast<double>(options.seconds)) return 0;
  return usual;
}

absl::Status Measurement::Iterate(
    const std::function<void(const LoadProgress&)>& on_progress) {
  std::deque<int64_t> under_way;
  int64_t asked = 0;
  int64_t done = 0;
  // Keeps two requests pending, so that workers never wait for the next one.
  const auto ask = [&] {
    const int64_t batch = NextBatch(asked, done, Seconds());
    if (batch == 0) return;
    processes_->Send(workers_, {PeerRequest::kPush, batch});
    under_way.push_back(batch);
    asked += batch;
  };
  ask();
  ask();
  while (!under_way.empty()) {
    PS_RETURN_IF_ERROR(processes_->AwaitReplies(workers_).status());
    done += under_way.front();
    under_way.pop_front();
    LoadProgress progress;
    progress.seconds = Seconds();
    progress.iterations = done;
    for (const ProcessMemory& server : result_.server_memory) {
      if (server.samples.empty()) continue;
      progress.server_bytes += server.samples.back().bytes;
    }
    on_progress(progress);
    ask();
  }
  result_.iterations = done;
  return absl::OkStatus();
}

absl::Status Measurement::Load(
    const std::function<void(const LoadProgress&)>& on_progress) {
  // Not timed, because connections and buffers are made.
  PS_RETURN_IF_ERROR(
      processes_->Ask(workers_, {PeerRequest::kPush, /*count=*/1}).status());
  PS_RETURN_IF_ERROR(
      processes_->Ask(workers_, {PeerRequest::kReport, /*count=*/0}).status());
  PS_ASSIGN_OR_RETURN(const CpuTime servers_before,
                      processes_->CpuTimeOfAll(servers_));
  PS_ASSIGN_OR_RETURN(const CpuTime workers_before,
                      processes_->CpuTimeOfAll(workers_));
  start_nanoseconds_ = SteadyNanoseconds();
  processes_->CallEvery(kSampleEvery, [this] { SampleMemory(); });
  PS_RETURN_IF_ERROR(Iterate(on_progress));
  result_.seconds = Seconds();
  SampleMemory();
  processes_->CallEvery(kSampleEvery, nullptr);

  PS_ASSIGN_OR_RETURN(result_.servers,
                      processes_->CpuTimeOfAll(servers_, servers_before));
  PS_ASSIGN_OR_RETURN(result_.workers,
                      processes_->CpuTimeOfAll(workers_, workers_before));
  PS_ASSIGN_OR_RETURN(
      const auto reports,
      processes_->Ask(workers_, {PeerRequest::kReport, /*count=*/0}));
  for (const std::vector<int64_t>& numbers : reports) {
    PS_ASSIGN_OR_RETURN(const ReplayCounts counts,
                        ReplayCounts::FromNumbers(numbers));
    result_.counts.Add(counts);
  }
  return absl::OkStatus();
}

absl::Status Measurement::Verify() {
  const absl::Status known = WeightsCanBeChecked(settings_.job);
  if (!known.ok()) result_.not_verified = std::string(known.message());
  return processes_->Check(workers_, /*pushes=*/0);
}

}  // namespace

absl::StatusOr<LoadResult> MeasureLoad(
    const LoadSettings& settings,
    const std::function<void(const LoadProgress&)>& on_progress) {
  PS_ASSIGN_OR_RETURN(auto processes, BenchProcesses::Create());
  Measurement measurement(settings, std::move(processes));
  PS_RETURN_IF_ERROR(measurement.Start());
  PS_RETURN_IF_ERROR(measurement.Load(on_progress));
  PS_RETURN_IF_ERROR(measurement.Verify());
  PS_RETURN_IF_ERROR(measurement.Finish());
  return std::move(measurement.result());
}

}  // namespace ps
