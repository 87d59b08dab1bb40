#include "tools/advise/plan.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"
#include "tools/advise/advice.h"
#include "tools/bench/network/bandwidth.h"
#include "tools/command_line/human_format.h"
#include "tools/commands/server_bounds.h"
#include "tools/report/text_table.h"
#include "worker/training_parts.h"
#include "worker/worker_memory.h"

namespace ps {
namespace {

class Planner {
 public:
  Planner(const PlanOptions& options,
          const std::vector<MeasuredSetting>& measured)
      : options_(options), measured_(measured) {
    // That of the largest messages, where bytes count most.
    const auto bytes = [](const MeasuredSetting& setting) {
      return setting.measures.four.bytes_up + setting.measures.four.bytes_down;
    };
    const auto largest = std::max_element(
        measured.begin(), measured.end(),
        [&bytes](const MeasuredSetting& a, const MeasuredSetting& b) {
          return bytes(a) < bytes(b);
        });
    scale_.seconds_per_byte = SecondsPerByte(largest->measures);
    scale_.one_machine = options.one_machine;
  }

  absl::StatusOr<SettingPrediction> Predict(const JobNetwork& network,
                                            int workers, int servers,
                                            size_t setting) {
    JobConfig config = options_.settings[setting].config;
    config.mutable_cluster()->set_num_workers(workers);
    config.mutable_cluster()->set_num_servers(servers);
    scale_.worker_threads = std::max(1, config.machine().worker_threads());
    scale_.workers = workers;
    scale_.servers = servers;
    const LocalMeasures scaled =
        ScaledMeasures(measured_[setting].measures, scale_);
    std::optional<LocalMeasures> own;
    if (!options_.one_machine) own = scaled;
    PS_ASSIGN_OR_RETURN(SettingPrediction prediction,
                        PredictSetting(config, scaled, own, network));
    prediction.setting = options_.settings[setting].name;
    return prediction;
  }

 private:
  const PlanOptions& options_;
  const std::vector<MeasuredSetting>& measured_;
  Scale scale_;
};

// As for predictions of `gradsieve advise`.
void TakeLeastCompute(const PlanOptions& options,
                      std::vector<MeasuredSetting>* measured) {
  for (LocalMeasures ScalingMeasures::*measures :
       {&ScalingMeasures::one, &ScalingMeasures::two, &ScalingMeasures::four}) {
    std::vector<SettingMeasures> settings;
    for (size_t i = 0; i < measured->size(); ++i) {
      SettingMeasures setting;
      setting.config = options.settings[i].config;
      setting.own = (*measured)[i].measures.*measures;
      settings.push_back(std::move(setting));
    }
    TakeLeastCompute(&settings);
    for (size_t i = 0; i < measured->size(); ++i) {
      ((*measured)[i].measures.*measures).compute = settings[i].own->compute;
    }
  }
}

// What the bottleneck is called in the table.
std::string BottleneckText(const SettingPrediction& setting) {
  const std::string part = setting.Bottleneck();
  if (part == "server") return "server work";
  if (part != "up" && part != "down") return part;
  const LinkLoad& load =
      part == "up" ? setting.busiest_up : setting.busiest_down;
  return absl::StrCat(load.of_server ? "server link, " : "worker link, ", part);
}

const LinkLoad& BusiestLink(const SettingPrediction& setting) {
  return setting.busiest_up.seconds > setting.busiest_down.seconds
             ? setting.busiest_up
             : setting.busiest_down;
}

double Percent(double part, const SettingPrediction& setting) {
  return 100 * part / setting.iteration;
}

// "Each server's link is busy for 93 % of it with answers".
std::string LimitText(const SettingPrediction& setting) {
  const std::string part = setting.Bottleneck();
  if (part == "compute") {
    return absl::StrFormat("computation takes %.0f %% of it",
                           Percent(setting.compute, setting));
  }
  if (part == "codec") {
    return absl::StrFormat(
        "compressing, and writing answers into the weights, takes %.0f %% of "
        "it",
        Percent(setting.codec, setting));
  }
  if (part == "server") {
    return absl::StrFormat("each server computes for %.0f %% of it",
                           Percent(setting.server, setting));
  }
  const bool up = part == "up";
  return absl::StrFormat(
      "each %s's link is busy with %s for %.0f %% of it",
      (up ? setting.busiest_up : setting.busiest_down).of_server ? "server"
                                                                 : "worker",
      up ? "pushes" : "answers",
      Percent(up ? setting.up : setting.down, setting));
}

std::string Milliseconds(double seconds) {
  return seconds < 1 ? FormatNumber(1e3 * seconds)
                     : FormatCount(std::llround(1e3 * seconds));
}

std::string Mebibytes(int64_t bytes) {
  return FormatCount((bytes + (int64_t{1} << 20) - 1) >> 20);
}

int64_t ServerBytes(const Plan& plan, const PlanRow& row, size_t setting) {
  return plan.measured[setting].memory.server_bytes.at(
      {row.workers, row.servers});
}

constexpr char kLegend[] =
    "setting: the first that is within 5 % of the fastest; over: how many "
    "times "
    "as fast\nas the first setting. busiest link: what it carries in an "
    "iteration in its busier\ndirection, and the share of the iteration. MiB: "
    "of a server at most, of a worker\nabout. Stragglers and what a setting "
    "learns are not predicted.\n";

TextTable Table(const Plan& plan, const JobNetwork& network) {
  TextTable table;
  table.push_back({"workers", "servers", "setting", "ms", "over",
                   "busiest link", "busy", "server MiB", "worker MiB",
                   "bottleneck"});
  for (const PlanRow& row : plan.rows) {
    if (row.network.bits_per_second != network.bits_per_second) continue;
    const size_t best = Recommended(row.settings);
    const SettingPrediction& setting = row.settings[best];
    const LinkLoad& busiest = BusiestLink(setting);
    table.push_back(
        {FormatCount(row.workers), FormatCount(row.servers), setting.setting,
         Milliseconds(setting.iteration),
         absl::StrCat(
             FormatNumber(row.settings.front().iteration / setting.iteration),
             "x"),
         FormatBytes(std::llround(busiest.bytes)),
         absl::StrFormat("%.0f %%",
                         Percent(std::max(setting.up, setting.down), setting)),
         Mebibytes(ServerBytes(plan, row, best)),
         Mebibytes(plan.measured[best].memory.worker_bytes),
         BottleneckText(setting)});
  }
  return table;
}

// The choices with most workers.
std::vector<PlanChoice> LargestChoices(const Plan& plan) {
  int most = 0;
  for (const PlanRow& row : plan.rows) most = std::max(most, row.workers);
  std::vector<PlanChoice> largest;
  for (const PlanChoice& choice : plan.choices) {
    if (plan.rows[choice.row].workers == most) largest.push_back(choice);
  }
  return largest;
}

}  // namespace

absl::StatusOr<PlanMemory> PlanMemoryOf(const PlanOptions& options,
                                        const JobConfig& config) {
  JobConfig job = config;
  job.mutable_machine()->set_device("cpu");
  job.mutable_training()->set_precision(TrainingConfig::FP32);
  PS_ASSIGN_OR_RETURN(const TrainingParts parts,
                      MakeTrainingParts(job, /*worker_rank=*/0));
  PlanMemory memory;
  for (const int servers : options.servers) {
    job.mutable_cluster()->set_num_servers(servers);
    for (const int workers : options.workers) {
      job.mutable_cluster()->set_num_workers(workers);
      const absl::StatusOr<std::vector<MemoryBound>> bounds =
          ServerBounds(job, parts);
      if (!bounds.ok()) {
        return Annotate(bounds.status(),
                        absl::StrCat("--servers has ", servers));
      }
      int64_t& most = memory.server_bytes[{workers, servers}];
      for (const MemoryBound& bound : *bounds) {
        most = std::max(most, bound.total());
      }
    }
  }
  PS_ASSIGN_OR_RETURN(const WorkerMemory worker,
                      WorkerMemoryOf(job, /*worker_rank=*/0, parts));
  memory.worker_bytes = worker.total();
  return memory;
}

absl::StatusOr<Plan> MakePlan(const PlanOptions& options,
                              std::vector<MeasuredSetting> measured) {
  Plan plan;
  plan.job = options.settings.front().config.name();
  plan.num_parameters = measured.front().measures.one.num_parameters;
  plan.one_machine = options.one_machine;
  plan.measured = std::move(measured);
  TakeLeastCompute(options, &plan.measured);
  Planner planner(options, plan.measured);
  for (const JobNetwork& network : options.networks) {
    for (const int workers : options.workers) {
      const size_t first = plan.rows.size();
      for (const int servers : options.servers) {
        PlanRow row;
        row.workers = workers;
        row.servers = servers;
        row.network = network;
        for (size_t i = 0; i < options.settings.size(); ++i) {
          PS_ASSIGN_OR_RETURN(SettingPrediction prediction,
                              planner.Predict(network, workers, servers, i));
          row.settings.push_back(std::move(prediction));
        }
        plan.rows.push_back(std::move(row));
      }
      std::vector<SettingPrediction> candidates;
      for (size_t i = 0; i < options.settings.size(); ++i) {
        for (size_t row = first; row < plan.rows.size(); ++row) {
          candidates.push_back(plan.rows[row].settings[i]);
        }
      }
      const size_t best = Recommended(candidates);
      PlanChoice choice;
      choice.row = first + best % options.servers.size();
      choice.setting = best / options.servers.size();
      const absl::StatusOr<SettingPrediction> doubled = planner.Predict(
          network, workers, 2 * plan.rows[choice.row].servers, choice.setting);
      if (doubled.ok()) choice.doubled = doubled->iteration;
      plan.choices.push_back(choice);
    }
  }
  return plan;
}

std::string ChoiceText(const Plan& plan, const PlanChoice& choice) {
  const PlanRow& row = plan.rows[choice.row];
  const SettingPrediction& setting = row.settings[choice.setting];
  std::string text =
      absl::StrCat("With ", Counted(row.workers, "worker"), " at ",
                   FormatBandwidth(*row.network.bits_per_second), ", take \"",
                   setting.setting, "\" and ", Counted(row.servers, "server"),
                   ": an iteration takes ", Milliseconds(setting.iteration),
                   " ms, and ", LimitText(setting), "; ");
  if (!choice.doubled.has_value()) {
    return absl::StrCat(text,
                        "the model cannot be cut among twice as many "
                        "servers.\n");
  }
  return absl::StrCat(text, "with twice as many servers it would take ",
                      Milliseconds(*choice.doubled), " ms.\n");
}

std::string PlanReport(const Plan& plan) {
  std::string text = absl::StrCat(
      plan.job, ": ", Counted(plan.num_parameters, "parameter"), ", ",
      plan.one_machine
          ? "all workers and servers on one machine like this one\n"
          : "each worker and each server on a machine like this one\n");
  for (size_t i = 0; i < plan.rows.size(); ++i) {
    const JobNetwork& network = plan.rows[i].network;
    if (i > 0 &&
        plan.rows[i - 1].network.bits_per_second == network.bits_per_second) {
      continue;
    }
    absl::StrAppend(&text, "\nover links of ",
                    FormatBandwidth(*network.bits_per_second), " each way:\n\n",
                    FormatTextTable(Table(plan, network)));
  }
  absl::StrAppend(&text, "\n", kLegend, "\n");
  for (const PlanChoice& choice : LargestChoices(plan)) {
    absl::StrAppend(&text, ChoiceText(plan, choice));
  }
  return text;
}

std::string PlanJson(const Plan& plan) {
  Json json = {
      {"job", plan.job},
      {"num_parameters", plan.num_parameters},
      {"one_machine", plan.one_machine},
      {"combinations", Json::array()},
      {"choices", Json::array()},
  };
  for (const PlanRow& row : plan.rows) {
    Json combination = {
        {"workers", row.workers},
        {"servers", row.servers},
        {"bits_per_second", *row.network.bits_per_second},
        {"settings", Json::array()},
    };
    for (size_t i = 0; i < row.settings.size(); ++i) {
      const SettingPrediction& setting = row.settings[i];
      Json figures = PredictionJson(setting);
      figures["bottleneck"] = BottleneckText(setting);
      figures["busiest_link_bytes_per_exchange"] = BusiestLink(setting).bytes;
      figures["server_memory_bytes"] = ServerBytes(plan, row, i);
      figures["worker_memory_bytes"] = plan.measured[i].memory.worker_bytes;
      combination["settings"].push_back(std::move(figures));
    }
    json["combinations"].push_back(std::move(combination));
  }
  for (const PlanChoice& choice : plan.choices) {
    const PlanRow& row = plan.rows[choice.row];
    const SettingPrediction& setting = row.settings[choice.setting];
    Json figures = {
        {"workers", row.workers},
        {"bits_per_second", *row.network.bits_per_second},
        {"servers", row.servers},
        {"setting", setting.setting},
        {"seconds_per_iteration", setting.iteration},
        {"seconds_per_iteration_with_twice_the_servers", nullptr},
        {"text", ChoiceText(plan, choice)},
    };
    if (choice.doubled.has_value()) {
      figures["seconds_per_iteration_with_twice_the_servers"] = *choice.doubled;
    }
    json["choices"].push_back(std::move(figures));
  }
  return JsonText(json) + "\n";
}

}  // namespace ps
