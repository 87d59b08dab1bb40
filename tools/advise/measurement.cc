#include "tools/advise/measurement.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/counted.h"
#include "common/external_model.h"
#include "common/machine_limits.h"
#include "common/run_directory.h"
#include "common/slice_elements.h"
#include "common/status_macros.h"
#include "tools/bench/network/measures.h"
#include "tools/bench/network/settings.h"
#include "tools/bench/processes/usage.h"
#include "tools/command_line/commands.h"
#include "tools/process/local_cluster.h"
#include "tools/process/worker_command.h"

namespace ps {
namespace {

// Connections open, caches fill and thresholds settle in these.
constexpr int64_t kWarmUp = 5;
// The run is stopped before.
constexpr int64_t kMostIterations = 1'000'000;

constexpr int64_t kNeededPushes = kWarmUp + kMeasuredPushes;

// The processor time of all servers, from the end of the warm-up on.
class ServerTime {
 public:
  void Look(const std::vector<JobProcess>& processes, int64_t pushes) {
    double seconds = 0;
    for (const JobProcess& process : processes) {
      if (process.kind != JobProcess::Kind::kServer) continue;
      const absl::StatusOr<CpuTime> time = CpuTimeOf(process.pid);
      if (!time.ok()) return;
      seconds += time->total();
    }
    if (pushes < kWarmUp || pushes == last_push_) return;
    if (first_push_ == 0) {
      first_push_ = pushes;
      first_seconds_ = seconds;
    }
    last_push_ = pushes;
    last_seconds_ = seconds;
  }

  // None if the run was too short.
  std::optional<double> OfAPush() const {
    if (last_push_ <= first_push_) return std::nullopt;
    return (last_seconds_ - first_seconds_) /
           static_cast<double>(last_push_ - first_push_);
  }

 private:
  int64_t first_push_ = 0;
  int64_t last_push_ = 0;
  double first_seconds_ = 0;
  double last_seconds_ = 0;
};

bool IsEnough(const MeasurementOptions& options,
              const std::vector<JobProcess>& processes, ServerTime* time) {
  const absl::StatusOr<RunRecords> records =
      ReadRunRecords(options.run_directory);
  if (!records.ok()) return false;  // None yet, or reported after the run.
  const auto pushes = static_cast<int64_t>(records->iterations.size());
  time->Look(processes, pushes);
  return pushes >= kNeededPushes &&
         records->seconds - records->iterations[kWarmUp - 1].seconds >=
             options.seconds;
}

}  // namespace

absl::StatusOr<LocalMeasures> TakeMeasures(const RunRecords& records) {
  const auto pushes = static_cast<int64_t>(records.iterations.size());
  if (pushes < kNeededPushes) {
    return absl::DataLossError(absl::StrCat("the run ended after ", pushes,
                                            " pushes; at least ", kNeededPushes,
                                            " are needed for a measurement"));
  }
  const RunMeasures run =
      MeasureRun(records, MeasureOptions(), {kWarmUp, pushes});
  const auto phases = [&run](std::initializer_list<const char*> names) {
    double sum = 0;
    for (const auto& [phase, seconds] : run.phases) {
      for (const char* name : names) sum += phase == name ? seconds : 0;
    }
    return sum;
  };
  LocalMeasures measures;
  measures.iteration = run.median;
  measures.compute = phases({"compute"});
  const double coding = phases({"compress", "apply"});
  measures.codec = coding - phases({"overlapped"});
  if (coding > 0) {
    measures.apply = phases({"apply"}) * measures.codec / coding;
  }
  measures.await = phases({"await"});
  measures.server =
      phases({"server_sum", "server_optimizer", "server_encode"}) /
      records.num_servers;
  measures.server_sum = phases({"server_sum"}) / records.num_servers;
  measures.bytes_up = run.bytes_up;
  measures.bytes_down = run.bytes_down;
  measures.achieved_ratio = run.achieved_ratio;
  measures.iterations = run.iterations;
  const double known = measures.iteration + measures.compute + measures.server +
                       measures.bytes_up + measures.bytes_down +
                       records.num_parameters;
  if (!std::isfinite(known) || measures.compute <= 0) {
    return absl::DataLossError(
        absl::StrCat(records.directory,
                     "/metrics.jsonl lacks times or bytes of its iterations"));
  }
  measures.num_parameters = static_cast<int64_t>(records.num_parameters);
  return measures;
}

absl::StatusOr<LocalMeasures> MeasureLocally(
    const MeasurementOptions& options) {
  PS_RETURN_IF_ERROR(MakeRunDirectory(options.run_directory));
  LocalClusterOptions cluster;
  cluster.config = options.config;
  if (HasExternalModel(options.config)) {
    // The program decides how long it trains.
    PS_RETURN_IF_ERROR(SetWorkerCommand(options.worker_command, &cluster));
    cluster.config.mutable_checkpoint()->set_every(0);
  } else {
    SetIterations(kMostIterations, &cluster.config);
  }
  // The iterations to predict come after it.
  cluster.config.mutable_compressor()->clear_warmup();
  cluster.config.mutable_training()->clear_dump_gradients();
  cluster.config.mutable_training()->clear_trace_iteration();
  // Workers on other machines use TCP, and messages for a network.
  cluster.config.mutable_cluster()->set_unix_sockets(false);
  cluster.config.mutable_cluster()->set_max_slice_elements(
      MaxSliceElements(options.config));
  cluster.run_directory = options.run_directory;
  cluster.show_log = false;
  cluster.show_progress = false;
  cluster.interrupts = options.interrupts;
  ServerTime server_time;
  cluster.is_enough = [&options, &server_time](const auto& processes) {
    return IsEnough(options, processes, &server_time);
  };
  PS_RETURN_IF_ERROR(RunLocalCluster(cluster));
  PS_ASSIGN_OR_RETURN(const RunRecords records,
                      ReadRunRecords(options.run_directory));
  PS_ASSIGN_OR_RETURN(LocalMeasures measures, TakeMeasures(records));
  measures.processors = MachineCores();
  if (const std::optional<double> all = server_time.OfAPush()) {
    const double steps = options.config.consistency().local_steps();
    measures.messages =
        std::max(0.0, *all / steps - measures.server * records.num_servers);
  }
  return measures;
}

absl::StatusOr<std::unique_ptr<Measurer>> Measurer::Create(
    double seconds, std::vector<std::string> worker_command) {
  PS_RETURN_IF_ERROR(
      FindJobPrograms(/*with_worker=*/worker_command.empty()).status());
  std::unique_ptr<Measurer> measurer(new Measurer);
  PS_ASSIGN_OR_RETURN(measurer->interrupts_, Interrupts::Create());
  PS_ASSIGN_OR_RETURN(measurer->directory_, TemporaryDirectory::Create());
  measurer->options_.seconds = seconds;
  measurer->options_.worker_command = std::move(worker_command);
  measurer->options_.interrupts = measurer->interrupts_.get();
  return measurer;
}

absl::StatusOr<LocalMeasures> Measurer::Measure(const std::string& name,
                                                const JobConfig& config,
                                                int num_workers) {
  PrintNow(absl::StrCat("measuring ", name, " with ",
                        Counted(num_workers, "worker"), "\n"));
  options_.config = config;
  options_.config.mutable_cluster()->set_num_workers(num_workers);
  options_.run_directory = absl::StrCat(directory_->path(), "/", ++num_runs_);
  absl::StatusOr<LocalMeasures> measures = MeasureLocally(options_);
  if (measures.ok() || absl::IsCancelled(measures.status())) return measures;
  return Annotate(measures.status(), absl::StrCat("measuring \"", name, "\""));
}

}  // namespace ps
