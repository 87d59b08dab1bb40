#include "tools/bench/push_pull/report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/json.h"
#include "common/slice_elements.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/human_format.h"

namespace ps {
namespace {

using PartOf = TimedPart PushPullRound::*;

struct PartText {
  PartOf part;
  PartOf floor;  // Plain TCP in the same direction; null for plain TCP.
  const char* label;
  const char* phase;  // Its name among the phases of the JSON.
};

constexpr PartText kParts[] = {
    {&PushPullRound::raw_push, nullptr, "push, plain TCP, added on arrival",
     "raw_tcp"},
    {&PushPullRound::push, &PushPullRound::raw_push, "push, parameter server",
     "push"},
    {&PushPullRound::raw_pull, nullptr, "pull, plain TCP, received in place",
     "raw_tcp_pull"},
    {&PushPullRound::pull, &PushPullRound::raw_pull, "pull, parameter server",
     "pull"},
};

Spread Speed(const std::vector<PushPullRound>& rounds, PartOf part) {
  std::vector<double> speeds;
  for (const PushPullRound& round : rounds) {
    speeds.push_back((round.*part).GigabytesPerSecond());
  }
  return SpreadOf(std::move(speeds));
}

// Compares within each round, because a busy machine then slows both.
Spread Ratio(const std::vector<PushPullRound>& rounds, PartOf part,
             PartOf floor) {
  std::vector<double> ratios;
  for (const PushPullRound& round : rounds) {
    ratios.push_back((round.*part).GigabytesPerSecond() /
                     (round.*floor).GigabytesPerSecond());
  }
  return SpreadOf(std::move(ratios));
}

TimedPart Total(const std::vector<PushPullRound>& rounds, PartOf part) {
  TimedPart total;
  for (const PushPullRound& round : rounds) {
    total.seconds += (round.*part).seconds;
    total.payload_bytes += (round.*part).payload_bytes;
    total.answer_bytes += (round.*part).answer_bytes;
    total.server += (round.*part).server;
    total.workers += (round.*part).workers;
  }
  return total;
}

double AnswerBytesPerByte(const std::vector<PushPullRound>& rounds) {
  const TimedPart push = Total(rounds, &PushPullRound::push);
  return static_cast<double>(push.answer_bytes) /
         static_cast<double>(push.payload_bytes);
}

// Seconds for one iteration of all workers.
double ServerCpuPerPush(const PushPullOptions& options,
                        const std::vector<PushPullRound>& rounds) {
  const CpuTime server = Total(rounds, &PushPullRound::push).server;
  return server.total() /
         static_cast<double>(options.iterations * options.rounds);
}

int64_t SliceElements(const PushPullOptions& options) {
  const auto job = PushPullJob(options);
  return job.ok() ? MaxSliceElements(*job) : 0;
}

std::string SettingsText(const PushPullOptions& options) {
  return absl::StrCat(
      options.megabytes, " MiB of fp32, buckets of ", options.bucket_megabytes,
      " MiB, slices of ", FormatCount(SliceElements(options)), " elements;\n",
      Counted(options.workers, "worker"), ", 1 server with ",
      Counted(options.server_threads, "thread"), "; ",
      Counted(options.connections, "connection"), " a worker;\n",
      options.one_of > 1
          ? absl::StrCat("one of ", FormatCount(options.one_of),
                         " elements is pushed to the parameter server, and its "
                         "new value comes back;\n")
          : "",
      Counted(options.rounds, "round"), " of ",
      Counted(options.iterations, "iteration"), ", each verified.\n");
}

std::string SpeedsText(const std::vector<PushPullRound>& rounds) {
  std::string text = absl::StrFormat("%-36s%9s%10s%9s%14s\n", "GB/s", "median",
                                     "smallest", "largest", "of plain TCP");
  for (const PartText& part : kParts) {
    const Spread speed = Speed(rounds, part.part);
    absl::StrAppendFormat(&text, "%-36s%9.2f%10.2f%9.2f", part.label,
                          speed.median, speed.smallest, speed.largest);
    if (part.floor != nullptr) {
      absl::StrAppendFormat(&text, "%14.2f",
                            Ratio(rounds, part.part, part.floor).median);
    }
    text += "\n";
  }
  return text;
}

std::string CpuText(const std::vector<PushPullRound>& rounds) {
  std::string text = absl::StrFormat(
      "%-36s%19s%20s\n%-36s%9s%10s%10s%10s\n", "", "server", "workers",
      "CPU seconds a GB", "user", "system", "user", "system");
  for (const PartText& part : kParts) {
    const TimedPart total = Total(rounds, part.part);
    const double gigabytes = total.Gigabytes();
    absl::StrAppendFormat(
        &text, "%-36s%9.3f%10.3f%10.3f%10.3f\n", part.label,
        total.server.user / gigabytes, total.server.system / gigabytes,
        total.workers.user / gigabytes, total.workers.system / gigabytes);
  }
  return text;
}

Json SpreadJson(const Spread& spread) {
  return {{"median", spread.median},
          {"smallest", spread.smallest},
          {"largest", spread.largest}};
}

Json CpuJson(const CpuTime& time, double gigabytes) {
  return {{"user_seconds", time.user},
          {"system_seconds", time.system},
          {"user_seconds_per_gigabyte", time.user / gigabytes},
          {"system_seconds_per_gigabyte", time.system / gigabytes}};
}

// Processor time of each part over all rounds.
Json PhasesJson(const std::vector<PushPullRound>& rounds) {
  Json phases;
  for (const PartText& part : kParts) {
    const TimedPart total = Total(rounds, part.part);
    phases[part.phase] = {
        {"seconds", total.seconds},
        {"gigabytes", total.Gigabytes()},
        {"server", CpuJson(total.server, total.Gigabytes())},
        {"workers", CpuJson(total.workers, total.Gigabytes())},
    };
  }
  return phases;
}

}  // namespace

Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  Spread spread;
  spread.median = values.size() % 2 == 1
                      ? values[middle]
                      : (values[middle - 1] + values[middle]) / 2;
  spread.smallest = values.front();
  spread.largest = values.back();
  return spread;
}

std::string PushPullRoundText(const PushPullRound& round) {
  return absl::StrFormat(
      "push %.2f GB/s, plain TCP %.2f; pull %.2f GB/s, plain TCP %.2f\n",
      round.push.GigabytesPerSecond(), round.raw_push.GigabytesPerSecond(),
      round.pull.GigabytesPerSecond(), round.raw_pull.GigabytesPerSecond());
}

std::string PushPullText(const PushPullOptions& options,
                         const std::vector<PushPullRound>& rounds) {
  std::string text = absl::StrCat("\n", SettingsText(options), "\n",
                                  SpeedsText(rounds), "\n", CpuText(rounds));
  absl::StrAppendFormat(
      &text,
      "\nThe server took %.2f ms of processor time for each iteration.\n",
      1e3 * ServerCpuPerPush(options, rounds));
  const double answered = AnswerBytesPerByte(rounds);
  if (answered > 0.01) {
    absl::StrAppendFormat(
        &text,
        "The parameter server answers a push with new weights: %.2f bytes came "
        "back for each\nbyte that was pushed, in the same time. The speed "
        "counts the bytes pushed.\n",
        answered);
  }
  return text;
}

std::string PushPullJson(const PushPullOptions& options,
                         const std::vector<PushPullRound>& rounds) {
  Json json;
  Json spreads;
  for (const PartText& part : kParts) {
    const std::string name = absl::StrCat(part.phase, "_gigabytes_per_second");
    const Spread speed = Speed(rounds, part.part);
    json[name] = speed.median;
    spreads[name] = SpreadJson(speed);
    if (part.floor != nullptr) {
      const std::string ratio_name = absl::StrCat(part.phase, "_over_raw_tcp");
      const Spread ratio = Ratio(rounds, part.part, part.floor);
      json[ratio_name] = ratio.median;
      spreads[ratio_name] = SpreadJson(ratio);
    }
  }
  json["push_answer_bytes_per_byte"] = AnswerBytesPerByte(rounds);
  json["server_cpu_seconds_per_push"] = ServerCpuPerPush(options, rounds);
  json["phases"] = PhasesJson(rounds);
  json["spreads"] = spreads;
  json["settings"] = {
      {"megabytes", options.megabytes},
      {"bucket_megabytes", options.bucket_megabytes},
      {"workers", options.workers},
      {"connections", options.connections},
      {"one_of", options.one_of},
      {"server_threads", options.server_threads},
      {"slice_elements", SliceElements(options)},
      {"iterations", options.iterations},
      {"rounds", options.rounds},
      {"overrides", options.overrides},
  };
  return JsonText(json) + "\n";
}

}  // namespace ps
