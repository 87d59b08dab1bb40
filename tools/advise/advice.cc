#include "tools/advise/advice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "tools/advise/candidates.h"
#include "tools/bench/network/bandwidth.h"
#include "tools/command_line/human_format.h"
#include "tools/report/text_table.h"

namespace ps {
namespace {

// What computation may take in one turn, of that in another, before the report
// warns of it.
constexpr double kBusy = 1.5;

std::string Milliseconds(double seconds) { return FormatNumber(1e3 * seconds); }

std::string NetworkText(const JobNetwork& network) {
  if (!network.bits_per_second.has_value()) {
    return "over this machine's loopback interface";
  }
  return absl::StrCat("over links of ",
                      FormatBandwidth(*network.bits_per_second));
}

std::string Heading(const Advice& advice) {
  std::string text = absl::StrCat(advice.job, ": ",
                                  Counted(advice.num_parameters, "parameter"),
                                  ", ", Counted(advice.num_workers, "worker"),
                                  ", ", Counted(advice.num_servers, "server"),
                                  ", ", NetworkText(advice.network), "\n");
  absl::StrAppend(&text, "computation and codec measured with ",
                  Counted(advice.workers_here, "worker"),
                  " sharing this machine\n");
  return text;
}

constexpr char kLegend[] =
    "ms: predicted time of an iteration after compressor.warmup, with the "
    "least and the\ngreatest of all turns. compute: forward and backward. "
    "codec: compressing, and writing\nanswers into the weights. up, down: what "
    "the messages take on the busiest link.\nserver: one server's work. Parts "
    "may overlap, and workers wait for each other. What a\nsetting learns is "
    "not predicted: one that sends less may need more iterations.\n";

// "51.7 (49.2 to 58.0)".
std::string WithSpread(const SettingPrediction& setting) {
  const std::string middle = Milliseconds(setting.iteration);
  if (setting.iterations.size() < 2) return middle;
  const auto [least, most] =
      std::minmax_element(setting.iterations.begin(), setting.iterations.end());
  return absl::StrCat(middle, " (", Milliseconds(*least), " to ",
                      Milliseconds(*most), ")");
}

// Empty if computation took about as long in each turn.
std::string BusyText(const Advice& advice) {
  double spread = 1;
  for (const SettingPrediction& setting : advice.settings) {
    spread = std::max(spread, setting.compute_spread);
  }
  if (spread < kBusy) return "";
  return absl::StrFormat(
      "\nThis machine is busy: computation took %.1f times as long in one turn "
      "as in another.\nOnly up and down, which are calculated, can be "
      "trusted; measure again when it is quiet.\n",
      spread);
}

// What PyTorch would do without us; empty if it is not known.
std::string AllReduceText(const Advice& advice) {
  if (!advice.is_external || !advice.network.bits_per_second.has_value()) {
    return "";
  }
  return absl::StrCat(
      "\nAn all-reduce of fp32, as DistributedDataParallel without a hook "
      "makes it, would take\nat least ",
      Milliseconds(AllReduceSeconds(advice)),
      " ms for its messages in each iteration.\n");
}

// The line of the job for one of its sections; empty if it has none.
std::string Line(const char* field, const std::string& section) {
  return section.empty()
             ? ""
             : absl::StrCat("    ", field, " { ",
                            absl::StripAsciiWhitespace(section), " }\n");
}

std::string Plain(const std::string& setting) {
  return std::string(absl::StripSuffix(setting, kJobMark));
}

}  // namespace

double AllReduceSeconds(const Advice& advice) {
  const double workers = advice.num_workers;
  return 2 * (workers - 1) / workers *
         static_cast<double>(advice.num_parameters) * sizeof(float) /
         PayloadRate(*advice.network.bits_per_second);
}

double SpeedUp(const Advice& advice, size_t i) {
  return advice.settings.front().iteration / advice.settings[i].iteration;
}

std::string AdviceText(const Advice& advice) {
  const size_t best = Recommended(advice.settings);
  const SettingPrediction& first = advice.settings.front();
  const SettingPrediction& setting = advice.settings[best];
  const std::string where = NetworkText(advice.network);
  if (best == 0) {
    return absl::StrFormat(
        "Compression will not help here: %s, no setting is predicted to be "
        "more than\n%.0f %% faster than \"%s\" in every turn, whose bottleneck "
        "is %s.\n",
        where, 100 * (kWorthwhile - 1), Plain(first.setting),
        first.Bottleneck());
  }
  const JobConfig& job = setting.config;
  std::string text = absl::StrFormat(
      "Use \"%s\": %s, it is predicted to be %s times as fast as \"%s\".\n",
      Plain(setting.setting), where, FormatNumber(SpeedUp(advice, best)),
      Plain(first.setting));
  if (setting.setting != Plain(setting.setting)) {
    return absl::StrCat(text, "The job has it already.\n");
  }
  const std::string downlink =
      job.has_downlink() ? job.downlink().ShortDebugString() : "mode: AUTO";
  absl::StrAppend(&text, "Put into the job:\n",
                  Line("compressor", job.compressor().ShortDebugString()),
                  Line("downlink", downlink));
  if (job.compressor().name() != "none" && !job.has_worker_optimizer()) {
    absl::StrAppend(&text,
                    "and move `optimizer` to `worker_optimizer`: see \"Delta "
                    "mode\" in docs/consistency.md.\n");
  }
  return text;
}

std::string AdviceReport(const Advice& advice) {
  TextTable table;
  table.push_back({"", "ms", "compute", "codec", "up", "down", "server",
                   "bottleneck", "speed-up", "bytes up", "bytes down"});
  for (size_t i = 0; i < advice.settings.size(); ++i) {
    const SettingPrediction& setting = advice.settings[i];
    table.push_back({setting.setting, WithSpread(setting),
                     Milliseconds(setting.compute), Milliseconds(setting.codec),
                     Milliseconds(setting.up), Milliseconds(setting.down),
                     Milliseconds(setting.server), setting.Bottleneck(),
                     absl::StrCat(FormatNumber(SpeedUp(advice, i)), "x"),
                     FormatBytes(std::llround(setting.bytes_up)),
                     FormatBytes(std::llround(setting.bytes_down))});
  }
  return absl::StrCat(Heading(advice), "\n", FormatTextTable(table), "\n",
                      kLegend, BusyText(advice), AllReduceText(advice), "\n",
                      AdviceText(advice));
}

Json PredictionJson(const SettingPrediction& setting) {
  return {
      {"setting", setting.setting},
      {"seconds_per_iteration", setting.iteration},
      {"compute_seconds", setting.compute},
      {"codec_seconds", setting.codec},
      {"up_seconds", setting.up},
      {"down_seconds", setting.down},
      {"server_seconds", setting.server},
      {"bottleneck", setting.Bottleneck()},
      {"bytes_up_per_iteration", setting.bytes_up},
      {"bytes_down_per_iteration", setting.bytes_down},
      {"achieved_ratio", setting.achieved_ratio},
  };
}

std::string AdviceJson(const Advice& advice) {
  const size_t best = Recommended(advice.settings);
  Json json = {
      {"job", advice.job},
      {"num_parameters", advice.num_parameters},
      {"num_workers", advice.num_workers},
      {"num_servers", advice.num_servers},
      {"workers_here", advice.workers_here},
      {"bits_per_second", nullptr},
      {"burst_bytes", advice.network.burst_bytes},
      {"settings", Json::array()},
      {"recommended", advice.settings[best].setting},
      {"compression_helps", best != 0},
      {"advice", AdviceText(advice)},
  };
  if (advice.network.bits_per_second.has_value()) {
    json["bits_per_second"] = *advice.network.bits_per_second;
  }
  if (advice.is_external && advice.network.bits_per_second.has_value()) {
    json["all_reduce_seconds"] = AllReduceSeconds(advice);
  }
  for (size_t i = 0; i < advice.settings.size(); ++i) {
    const SettingPrediction& setting = advice.settings[i];
    Json row = PredictionJson(setting);
    row["seconds_per_iteration_by_turn"] = setting.iterations;
    row["await_seconds"] = setting.await;
    row["speed_up"] = SpeedUp(advice, i);
    json["settings"].push_back(std::move(row));
  }
  return JsonText(json) + "\n";
}

}  // namespace ps
