#include "tools/advise/measurement.h"

#include <cmath>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "common/run_directory.h"
#include "common/status_macros.h"
#include "tools/bench/network/measures.h"
#include "tools/bench/network/settings.h"
#include "tools/process/local_cluster.h"

namespace ps {
namespace {

// Connections open, caches fill and thresholds settle in these.
constexpr int64_t kWarmUp = 5;
// The run is stopped before.
constexpr int64_t kMostIterations = 1'000'000;

// With local steps, only whole rounds are comparable.
int64_t Needed(int64_t local_steps) {
  return kWarmUp + kMeasuredIterations * local_steps;
}

bool IsEnough(const MeasurementOptions& options) {
  const absl::StatusOr<RunRecords> records =
      ReadRunRecords(options.run_directory);
  if (!records.ok()) return false;  // None yet, or reported after the run.
  const auto iterations = static_cast<int64_t>(records->iterations.size());
  return iterations >= Needed(options.config.consistency().local_steps()) &&
         records->seconds - records->iterations[kWarmUp - 1].seconds >=
             options.seconds;
}

}  // namespace

absl::StatusOr<LocalMeasures> TakeMeasures(const RunRecords& records,
                                           int64_t local_steps) {
  const auto iterations = static_cast<int64_t>(records.iterations.size());
  if (iterations < Needed(local_steps)) {
    return absl::DataLossError(absl::StrCat(
        "the run ended after ", iterations, " iterations; at least ",
        Needed(local_steps), " are needed for a measurement"));
  }
  const int64_t rounds = (iterations - kWarmUp) / local_steps;
  const RunMeasures run = MeasureRun(records, MeasureOptions(),
                                     {kWarmUp, kWarmUp + rounds * local_steps});
  const auto phases = [&run](std::initializer_list<const char*> names) {
    double sum = 0;
    for (const auto& [phase, seconds] : run.phases) {
      for (const char* name : names) sum += phase == name ? seconds : 0;
    }
    return sum;
  };
  LocalMeasures measures;
  measures.iteration = local_steps == 1 ? run.median : run.mean;
  measures.compute = phases({"compute"});
  measures.codec = phases({"compress", "apply"}) - phases({"overlapped"});
  measures.await = phases({"await"});
  measures.server =
      phases({"server_sum", "server_optimizer", "server_encode"}) /
      records.num_servers;
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
  SetIterations(kMostIterations, &cluster.config);
  cluster.config.mutable_training()->clear_dump_gradients();
  cluster.config.mutable_training()->clear_trace_iteration();
  // Workers on other machines use TCP.
  cluster.config.mutable_cluster()->set_unix_sockets(false);
  cluster.run_directory = options.run_directory;
  cluster.show_log = false;
  cluster.show_progress = false;
  cluster.interrupts = options.interrupts;
  cluster.is_enough = [&options] { return IsEnough(options); };
  PS_RETURN_IF_ERROR(RunLocalCluster(cluster));
  PS_ASSIGN_OR_RETURN(const RunRecords records,
                      ReadRunRecords(options.run_directory));
  return TakeMeasures(records, options.config.consistency().local_steps());
}

}  // namespace ps
