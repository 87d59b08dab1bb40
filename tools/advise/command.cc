#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config.h"
#include "common/external_model.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/machine_limits.h"
#include "common/program.h"
#include "common/status_macros.h"
#include "tools/advise/advice.h"
#include "tools/advise/flags.h"
#include "tools/advise/measurement.h"
#include "tools/advise/prediction.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/options.h"
#include "tools/process/worker_command.h"

namespace ps {
namespace {

CommandText Text() {
  CommandText text;
  text.program = "gradsieve advise";
  text.description =
      "Says before a run whether compression pays. Trains the job on this "
      "machine for a few seconds with each of several settings, which shows "
      "what computation, codecs and servers take and what is sent; predicts "
      "how long the messages take on links of the given bandwidth; and names "
      "the setting to use, and the bottleneck of each. Every worker and every "
      "server is assumed to have a link of its own. Without --bandwidth the "
      "job stays on this machine, and the measured times are the prediction. "
      "Not predicted are latency, what a setting learns, and the iterations of "
      "compressor.warmup.";
  text.examples = {
      {"gradsieve advise job.textproto --bandwidth=100mbit",
       "which setting to use at 100 Mbit/s"},
      {"gradsieve advise job.textproto --bandwidth=1gbit --workers-here=1",
       "each worker has a machine like this one to itself"},
      {"gradsieve advise job.textproto --bandwidth=1gbit "
       "--settings=none,dgc:0.01,qsgd:downlink.mode=WEIGHTS",
       "settings of your own, compared with the first"},
      {"gradsieve advise script.textproto --bandwidth=100mbit "
       "--turns=1 -- python3 train.py",
       "a job whose model is in a script, which is started for each setting "
       "and stopped"},
  };
  text.exit_codes = {
      {"0", "predicted"},
      {"1", "a measurement failed; the message says why"},
      {"64", "the command line makes no sense"},
      {"78", "the job's config is wrong"},
      {"130", "interrupted"},
  };
  return text;
}

int Fail(const absl::Status& status, int exit_code) {
  return FailCommand("advise", status, exit_code);
}

class Adviser {
 public:
  explicit Adviser(const AdviseOptions& options) : options_(options) {}

  // Shows progress on stdout. Errors: those of Measurer.
  absl::StatusOr<Advice> Run(const JobConfig& job);

 private:
  // How many times as long computation takes with all workers on this machine
  // as with one, at most their number.
  absl::StatusOr<double> MeasureContention(const NetworkSetting& setting,
                                           const LocalMeasures& shared);

  // Measures each setting once.
  absl::StatusOr<std::vector<SettingMeasures>> MeasureTurn();

  const AdviseOptions options_;
  std::unique_ptr<Measurer> measurer_;
};

absl::StatusOr<double> Adviser::MeasureContention(const NetworkSetting& setting,
                                                  const LocalMeasures& shared) {
  const int all = setting.config.cluster().num_workers();
  if (all == 1) return 1.0;
  JobConfig config = setting.config;
  MachineConfig& machine = *config.mutable_machine();
  if (machine.worker_threads() == 0) {
    // Alone, it would get more threads than beside the others.
    machine.set_worker_threads(CoresOfEach(all));
  }
  PS_ASSIGN_OR_RETURN(const LocalMeasures alone,
                      measurer_->Measure(setting.name, config, 1));
  return std::clamp(shared.compute / alone.compute, 1.0,
                    static_cast<double>(all));
}

absl::StatusOr<std::vector<SettingMeasures>> Adviser::MeasureTurn() {
  std::vector<SettingMeasures> measured;
  double contention = 1;  // The same for all settings.
  for (const NetworkSetting& setting : options_.settings) {
    SettingMeasures measures;
    measures.config = setting.config;
    // All workers, because what servers send back depends on their number.
    const int all = setting.config.cluster().num_workers();
    PS_ASSIGN_OR_RETURN(measures.shared,
                        measurer_->Measure(setting.name, setting.config, all));
    if (options_.workers_here < all) {
      PS_ASSIGN_OR_RETURN(measures.own,
                          measurer_->Measure(setting.name, setting.config,
                                             options_.workers_here));
    } else if (options_.network.bits_per_second.has_value()) {
      if (measured.empty()) {
        PS_ASSIGN_OR_RETURN(contention,
                            MeasureContention(setting, measures.shared));
      }
      measures.shared.contention = contention;
    }
    measured.push_back(std::move(measures));
  }
  TakeLeastCompute(&measured);
  return measured;
}

absl::StatusOr<Advice> Adviser::Run(const JobConfig& job) {
  PS_ASSIGN_OR_RETURN(measurer_,
                      Measurer::Create(options_.seconds / options_.turns,
                                       options_.worker_command));
  Advice advice;
  advice.job = job.name();
  advice.is_external = HasExternalModel(job);
  advice.network = options_.network;
  advice.num_workers = job.cluster().num_workers();
  advice.num_servers = job.cluster().num_servers();
  advice.workers_here = options_.workers_here;
  // By setting, then by turn.
  std::vector<std::vector<SettingPrediction>> predictions(
      options_.settings.size());
  for (int turn = 0; turn < options_.turns; ++turn) {
    PS_ASSIGN_OR_RETURN(const std::vector<SettingMeasures> measured,
                        MeasureTurn());
    advice.num_parameters = measured.front().shared.num_parameters;
    for (size_t i = 0; i < measured.size(); ++i) {
      PS_ASSIGN_OR_RETURN(SettingPrediction prediction,
                          PredictSetting(measured[i].config, measured[i].shared,
                                         measured[i].own, options_.network));
      prediction.setting = options_.settings[i].name;
      predictions[i].push_back(std::move(prediction));
    }
  }
  for (std::vector<SettingPrediction>& turns : predictions) {
    advice.settings.push_back(MiddleTurn(std::move(turns)));
  }
  return advice;
}

// Errors: those of CheckWorkerCommand and SetWorkerCommand.
absl::Status CheckCommand(const AdviseFlags& flags, const JobConfig& job) {
  PS_RETURN_IF_ERROR(CheckWorkerCommand(job, flags.job, {flags.command}));
  if (!HasExternalModel(job)) return absl::OkStatus();
  LocalClusterOptions found;
  return SetWorkerCommand(flags.command, &found);
}

int Advise(const AdviseFlags& flags) {
  const absl::StatusOr<JobConfig> job = LoadJob(flags.job, flags.overrides);
  if (!job.ok()) return Fail(job.status(), kExitConfig);
  const absl::StatusOr<AdviseOptions> options = ParseAdviseFlags(flags, *job);
  if (!options.ok()) return Fail(options.status(), kExitUsage);
  if (const absl::Status usable = CheckCommand(flags, *job); !usable.ok()) {
    return Fail(usable,
                absl::IsInvalidArgument(usable) ? kExitUsage : kExitFailed);
  }
  absl::StatusOr<std::optional<AtomicFile>> json = OpenOutput(flags.json);
  if (!json.ok()) return Fail(json.status(), kExitFailed);
  const absl::StatusOr<Advice> advice = Adviser(*options).Run(*job);
  if (absl::IsCancelled(advice.status())) {
    return Fail(absl::CancelledError("interrupted; everything is stopped"),
                kExitInterrupted);
  }
  if (!advice.ok()) return Fail(advice.status(), kExitFailed);
  std::printf("\n%s", AdviceReport(*advice).c_str());
  const absl::Status written = CommitOutput(AdviceJson(*advice), &*json);
  return written.ok() ? kExitDone : Fail(written, kExitFailed);
}

}  // namespace

int RunAdviseCommand(int argc, char** argv) {
  AdviseFlags flags;
  CommandLine command_line(Text());
  command_line.AddArgument("JOB", "The job, a .textproto file.", &flags.job);
  command_line.AddCommand("COMMAND",
                          "As for `gradsieve train`. It is run for each "
                          "measurement, and writes its own files.",
                          &flags.command);
  command_line.AddOption("bandwidth", "RATE",
                         "Bandwidth of each host's link in each direction: a "
                         "number with kbit, mbit or gbit. Required if "
                         "cluster.servers names other machines.",
                         &flags.bandwidth);
  command_line.AddOption("burst", "BYTES",
                         "Bytes that a link lets through at once after a "
                         "pause, as some cloud networks and the filters of "
                         "`gradsieve bench network` do.",
                         &flags.burst_bytes);
  command_line.AddOption("workers-here", "N",
                         "Number of workers that share one machine like this "
                         "in the real job; computation and codecs are measured "
                         "with so many. 0: all workers, or 1 if "
                         "cluster.servers names other machines.",
                         &flags.workers_here);
  command_line.AddOption("settings", "SETTING,SETTING,...",
                         "Settings as for `gradsieve bench network`, compared "
                         "with the first one; default: no compression, bf16, "
                         "the job as it is, and three compressors.",
                         &flags.settings);
  command_line.AddOption("seconds", "S",
                         "Training time to measure for each setting, over all "
                         "turns; some iterations are always measured.",
                         &flags.seconds);
  command_line.AddOption("turns", "N",
                         "Measure all settings so many times, one after the "
                         "other: what differs between turns is noise.",
                         &flags.turns);
  command_line.AddOption("json", "FILE",
                         "Write all figures as one JSON object.", &flags.json);
  AddOverrides(&command_line, &flags.overrides);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  return Advise(flags);
}

}  // namespace ps
