#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/machine_limits.h"
#include "common/program.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tools/advise/flags.h"
#include "tools/advise/measurement.h"
#include "tools/advise/plan.h"
#include "tools/advise/scaling.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/options.h"

namespace ps {
namespace {

CommandText Text() {
  CommandText text;
  text.program = "gradsieve plan";
  text.description =
      "Says before a job has its machines how long an iteration takes with "
      "many workers, and what limits it. Trains the job on this machine for a "
      "few seconds with one, two and four workers, which shows what "
      "computation, codecs, servers and messages (with TLS) take, and how "
      "much more comes back from several workers; predicts the rest by the "
      "model of `gradsieve advise`. Every worker and every server is assumed "
      "to have a machine like this one, and a link of its own. Prints for each "
      "combination the setting to use, the time of an iteration, what the "
      "busiest link carries, memory and the bottleneck.";
  text.examples = {
      {"gradsieve plan job.textproto --workers=8,100,1000 --servers=1,4,16 "
       "--bandwidth=100mbit,1gbit,10gbit",
       "how far the job grows, and what is worth buying"},
      {"gradsieve plan job.textproto --workers=1000 --bandwidth=1gbit "
       "--settings=none,topk:0.001:downlink.mode=COMPRESSED",
       "settings of your own"},
  };
  text.exit_codes = {
      {"0", "predicted"},
      {"1", "a measurement failed; the message says why"},
      {"64", "the command line makes no sense"},
      {"78",
       "the job's config or data is wrong, or its model cannot be cut "
       "among so many servers"},
      {"130", "interrupted"},
  };
  return text;
}

int Fail(const absl::Status& status, int exit_code) {
  return FailCommand("plan", status, exit_code);
}

absl::StatusOr<ScalingMeasures> Measure(const NetworkSetting& setting,
                                        bool one_machine, Measurer* measurer) {
  JobConfig config = setting.config;
  config.mutable_cluster()->set_num_servers(1);
  ScalingMeasures measures;
  if (config.machine().worker_threads() == 0) {
    // The same for all measurements: as many as a worker will have.
    config.mutable_machine()->set_worker_threads(one_machine ? 1
                                                             : MachineCores());
  }
  PS_ASSIGN_OR_RETURN(measures.one, measurer->Measure(setting.name, config, 1));
  PS_ASSIGN_OR_RETURN(measures.two, measurer->Measure(setting.name, config, 2));
  PS_ASSIGN_OR_RETURN(measures.four,
                      measurer->Measure(setting.name, config, 4));
  PS_ASSIGN_OR_RETURN(measures.one.latency,
                      UnexplainedSeconds(config, measures.one));
  return measures;
}

absl::StatusOr<Plan> MeasureAndPlan(const PlanOptions& options,
                                    std::vector<PlanMemory> memory) {
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<Measurer> measurer,
                      Measurer::Create(options.seconds));
  std::vector<MeasuredSetting> measured;
  for (size_t i = 0; i < options.settings.size(); ++i) {
    MeasuredSetting setting;
    PS_ASSIGN_OR_RETURN(
        setting.measures,
        Measure(options.settings[i], options.one_machine, measurer.get()));
    setting.memory = std::move(memory[i]);
    measured.push_back(std::move(setting));
  }
  return MakePlan(options, std::move(measured));
}

int RunPlan(const PlanFlags& flags) {
  const absl::StatusOr<JobConfig> job = LoadJob(flags.job, flags.overrides);
  if (!job.ok()) return Fail(job.status(), kExitConfig);
  const absl::StatusOr<PlanOptions> options = ParsePlanFlags(flags, *job);
  if (!options.ok()) return Fail(options.status(), kExitUsage);
  absl::StatusOr<std::optional<AtomicFile>> json = OpenOutput(flags.json);
  if (!json.ok()) return Fail(json.status(), kExitFailed);
  std::vector<PlanMemory> memory;
  for (const NetworkSetting& setting : options->settings) {
    absl::StatusOr<PlanMemory> needed = PlanMemoryOf(*options, setting.config);
    if (!needed.ok()) return Fail(needed.status(), kExitConfig);
    memory.push_back(*std::move(needed));
  }
  const absl::StatusOr<Plan> plan = MeasureAndPlan(*options, std::move(memory));
  if (absl::IsCancelled(plan.status())) {
    return Fail(absl::CancelledError("interrupted; everything is stopped"),
                kExitInterrupted);
  }
  if (!plan.ok()) return Fail(plan.status(), kExitFailed);
  std::printf("\n%s", PlanReport(*plan).c_str());
  const absl::Status written = CommitOutput(PlanJson(*plan), &*json);
  return written.ok() ? kExitDone : Fail(written, kExitFailed);
}

}  // namespace

int RunPlanCommand(int argc, char** argv) {
  PlanFlags flags;
  CommandLine command_line(Text());
  command_line.AddArgument("JOB", "The job, a .textproto file.", &flags.job);
  command_line.AddOption("workers", "N,N,...",
                         "Numbers of workers, up to 1024; default: the job's.",
                         &flags.workers);
  command_line.AddOption("servers", "N,N,...",
                         "Numbers of servers, up to 256; default: the job's.",
                         &flags.servers);
  command_line.AddRequiredOption(
      "bandwidth", "RATE,RATE,...",
      "Bandwidths of each host's link in each direction: numbers with kbit, "
      "mbit or gbit.",
      &flags.bandwidth);
  command_line.AddOption("burst", "BYTES", "As for `gradsieve advise`.",
                         &flags.burst_bytes);
  command_line.AddOption("settings", "SETTING,SETTING,...",
                         "As for `gradsieve advise`.", &flags.settings);
  command_line.AddOption("seconds", "S",
                         "Training time of each of the three measurements of a "
                         "setting; some iterations are always measured.",
                         &flags.seconds);
  command_line.AddSwitch("one-machine",
                         "All workers and servers share the processors of this "
                         "machine, each with a link of its own, as in "
                         "`gradsieve bench network`; a worker computes with "
                         "machine.worker_threads, or one thread.",
                         &flags.one_machine);
  command_line.AddOption("json", "FILE",
                         "Write all figures as one JSON object.", &flags.json);
  AddOverrides(&command_line, &flags.overrides);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  FLAGS_minloglevel = google::GLOG_WARNING;
  return RunPlan(flags);
}

}  // namespace ps
