#include "worker/page/live_page.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/file.h"
#include "common/metric.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

constexpr size_t kRecentPushes = 100;
constexpr size_t kMostEvents = 200;
// Compressors settle in this many pushes.
constexpr int64_t kSettlingPushes = 20;

double Number(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_number() ? it->get<double>() : 0;
}

HistoryPoint PointOf(const Json& record) {
  HistoryPoint point;
  point.iteration = static_cast<int64_t>(Number(record, "iteration"));
  point.loss = Number(record, "training_loss");
  point.seconds = Number(record, "seconds");
  point.samples = Number(record, "samples_per_second") * point.seconds;
  point.bytes_up = Number(record, "bytes_up");
  point.bytes_down = Number(record, "bytes_down");
  return point;
}

HistoryPoint PointOf(const IterationRecord& record) {
  const RunTotals& totals = record.totals;
  HistoryPoint point;
  point.iteration = totals.iterations;
  point.loss = record.training_loss;
  point.seconds = totals.seconds;
  point.samples = totals.samples_per_second * totals.seconds;
  point.bytes_up = static_cast<double>(totals.bytes_up);
  point.bytes_down = static_cast<double>(totals.bytes_down);
  return point;
}

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

LivePage::LivePage(std::vector<std::string> servers, std::string run_directory)
    : servers_(std::move(servers)),
      run_directory_(std::move(run_directory)),
      reports_(servers_.size()) {
  for (ServerReport& report : reports_) {
    report.status = absl::UnknownError("has not answered yet");
  }
}

void LivePage::AddEvent(std::string text) {
  events_.push_back({absl::Now(), std::move(text)});
  if (events_.size() > kMostEvents) events_.pop_front();
}

void LivePage::AddPoint(const HistoryPoint& point) {
  history_.Add(point);
  while (!results_.empty() && results_.back().at.iteration >= point.iteration) {
    results_.pop_back();
  }
}

void LivePage::ReadEarlierRecords() {
  if (run_directory_.empty()) return;
  const absl::StatusOr<std::string> text =
      ReadFile(absl::StrCat(run_directory_, "/metrics.jsonl"));
  if (!text.ok()) return;  // There is no file in a new run.
  HistoryPoint last;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const Json json = ParseJson(line);
    if (!json.is_object() || !json.contains("event")) continue;
    if (json["event"] == "iteration") {
      last = PointOf(json);
      AddPoint(last);
    } else if (json["event"] == "evaluation" && json.contains("metric") &&
               json["metric"].is_string()) {
      const std::string metric = json["metric"];
      metric_ = metric.substr(metric.find('_') + 1);
      results_.push_back({last, Number(json, metric.c_str())});
    }
  }
  if (last.iteration > 0) AddEvent("this worker was started again");
}

void LivePage::Begins(const RunHeader& header) {
  MutexLock lock(&mu_);
  header_ = header;
  begun_ = true;
  // This was reported before all workers had joined.
  for (ServerReport& report : reports_) report.missing_ranks.clear();
  ReadEarlierRecords();
  AddEvent("training begins");
}

void LivePage::Iteration(const IterationRecord& record) {
  MutexLock lock(&mu_);
  AddPoint(PointOf(record));
  ++num_pushes_;
  recent_.push_back(record);
  if (recent_.size() > kRecentPushes) recent_.pop_front();
  latest_ = record;
  residual_norm_ = record.residual_norm.value_or(residual_norm_);
  gradient_norm_ = record.gradient_norm.value_or(gradient_norm_);
  buckets_.resize(record.buckets.size());
  for (size_t b = 0; b < buckets_.size(); ++b) {
    Bucket& bucket = buckets_[b];
    bucket.latest = record.buckets[b];
    if (num_pushes_ <= kSettlingPushes || bucket.latest.target_count == 0) {
      continue;
    }
    const double ratio = static_cast<double>(bucket.latest.count) /
                         static_cast<double>(bucket.latest.target_count);
    ++bucket.num;
    bucket.sum += ratio;
    if (std::abs(ratio - 1) <= 0.2) ++bucket.num_within_20;
  }
}

void LivePage::Evaluated(const std::vector<Metric>& metrics) {
  const Metric& metric = metrics.front();
  MutexLock lock(&mu_);
  metric_ = metric.name;
  results_.push_back({PointOf(latest_), metric.value});
  AddEvent(absl::StrCat("test ", DescribeMetrics(metrics)));
}

void LivePage::SnapshotWritten(absl::Duration took,
                               const absl::Status& result) {
  if (result.ok()) return;
  MutexLock lock(&mu_);
  AddEvent(absl::StrCat("a snapshot could not be written after ",
                        absl::FormatDuration(took), ": ", result.message()));
}

std::set<int> LivePage::MissingRanks() const {
  std::set<int> missing;
  for (const ServerReport& report : reports_) {
    if (!report.status.ok()) continue;
    missing.insert(report.missing_ranks.begin(), report.missing_ranks.end());
  }
  return missing;
}

void LivePage::Heard(int server, const ServerReport& report) {
  MutexLock lock(&mu_);
  reports_[server] = report;
  missing_ = MissingRanks();
  // Before training begins, workers come one by one.
  if (num_pushes_ == 0) return;
  const std::string name = absl::StrCat("server ", server);
  if (report.status.ok() && lost_.erase(name) > 0) {
    AddEvent(absl::StrCat(name, " answers again"));
  } else if (!report.status.ok() && lost_.insert(name).second) {
    AddEvent(absl::StrCat(name, " does not answer: ", report.status.message()));
  }
  for (int rank = 0; rank < header_.num_workers; ++rank) {
    const std::string worker = absl::StrCat("worker ", rank);
    if (missing_.count(rank) > 0) {
      if (lost_.insert(worker).second) AddEvent(worker + " is lost");
    } else if (lost_.erase(worker) > 0) {
      AddEvent(worker + " is back");
    }
  }
}

Json LivePage::JobJson() const {
  Json json;
  json["name"] = header_.job;
  json["model"] = header_.model;
  json["num_parameters"] = header_.num_parameters;
  json["compressor"] = header_.compressor;
  json["value_code"] = header_.value_code;
  json["target_ratio"] = header_.target_ratio;
  json["total_iterations"] = header_.total_iterations;
  return json;
}

Json LivePage::NowJson() const {
  const RunTotals& totals = latest_.totals;
  // Only the latest pushes count, because the speed may change.
  double seconds = 0;
  for (const IterationRecord& record : recent_) seconds += record.seconds;
  double iterations = 0;
  double samples = 0;
  if (!recent_.empty()) {
    const RunTotals& first = recent_.front().totals;
    iterations = static_cast<double>(totals.iterations - first.iterations);
    samples = totals.samples_per_second * totals.seconds -
              first.samples_per_second * first.seconds;
    seconds -= recent_.front().seconds;
  }
  Json json;
  json["iteration"] = totals.iterations;
  json["epoch"] = latest_.epoch;
  json["loss"] = latest_.training_loss;
  json["learning_rate"] = latest_.learning_rate;
  json["seconds"] = totals.seconds;
  json["samples_per_second"] = Ratio(samples, seconds);
  if (header_.total_iterations > 0) {
    json["seconds_to_go"] =
        static_cast<double>(header_.total_iterations - totals.iterations) *
        Ratio(seconds, iterations);
  }
  json["achieved_ratio"] = totals.achieved_ratio;
  json["bytes_up"] = totals.bytes_up;
  json["bytes_down"] = totals.bytes_down;
  json["dense_bytes_up"] = totals.dense_bytes_up;
  json["dense_bytes_down"] = totals.dense_bytes_down;
  json["gradient_norm"] = gradient_norm_;
  json["residual_norm"] = residual_norm_;
  return json;
}

// Returns the mean milliseconds of a push, by name.
Json LivePage::PhasesJson() const {
  const Timings none;
  const double each = recent_.empty() ? 0 : 1e3 / recent_.size();
  Json json;
  ForEachTiming(none, [&json](const char* name, double) { json[name] = 0.0; });
  for (const IterationRecord& record : recent_) {
    ForEachTiming(record.timings, [&](const char* name, double seconds) {
      json[name] = json[name].get<double>() + seconds * each;
    });
  }
  return json;
}

Json LivePage::BucketsJson() const {
  Json all = Json::array();
  for (const Bucket& bucket : buckets_) {
    const double num = static_cast<double>(bucket.num);
    Json json;
    json["threshold"] = bucket.latest.threshold;
    json["count"] = bucket.latest.count;
    json["target_count"] = bucket.latest.target_count;
    json["stages"] = bucket.latest.stages;
    json["fallback"] = bucket.latest.fallback;
    json["dense"] = bucket.latest.chosen_dense;
    json["mean_over_target"] = Ratio(bucket.sum, num);
    json["within_20"] = Ratio(static_cast<double>(bucket.num_within_20), num);
    all.push_back(std::move(json));
  }
  return all;
}

Json LivePage::HistoryJson() const {
  // The data are sent by column, as plots need them.
  Json iteration, seconds, bytes, loss, samples, up, down;
  for (const HistoryPoint& point : history_.points()) {
    iteration.push_back(point.iteration);
    seconds.push_back(point.seconds);
    bytes.push_back(point.bytes_up + point.bytes_down);
    loss.push_back(point.loss);
    samples.push_back(point.samples);
    up.push_back(point.bytes_up);
    down.push_back(point.bytes_down);
  }
  return {{"iteration", iteration}, {"seconds", seconds}, {"bytes", bytes},
          {"loss", loss},           {"samples", samples}, {"bytes_up", up},
          {"bytes_down", down}};
}

Json LivePage::ResultsJson() const {
  Json iteration = Json::array(), seconds = Json::array();
  Json bytes = Json::array(), value = Json::array();
  for (const Result& result : results_) {
    iteration.push_back(result.at.iteration);
    seconds.push_back(result.at.seconds);
    bytes.push_back(result.at.bytes_up + result.at.bytes_down);
    value.push_back(result.value);
  }
  Json json;
  json["metric"] = MetricWords(metric_);
  json["is_fraction"] = IsFraction(metric_);
  json["latest"] =
      results_.empty() ? "" : FormatMetric(metric_, results_.back().value);
  json["iteration"] = iteration;
  json["seconds"] = seconds;
  json["bytes"] = bytes;
  json["value"] = value;
  return json;
}

Json LivePage::ServersJson() const {
  Json all = Json::array();
  for (size_t i = 0; i < servers_.size(); ++i) {
    const ServerReport& report = reports_[i];
    Json json;
    json["address"] = servers_[i];
    json["answers"] = report.status.ok();
    json["error"] = std::string(report.status.message());
    json["version"] = report.version;
    all.push_back(std::move(json));
  }
  return all;
}

Json LivePage::WorkersJson() const {
  std::set<int> awaited;
  for (const ServerReport& report : reports_) {
    if (!report.status.ok()) continue;
    awaited.insert(report.awaited_ranks.begin(), report.awaited_ranks.end());
  }
  Json all = Json::array();
  for (int rank = 0; rank < header_.num_workers; ++rank) {
    all.push_back({{"missing", missing_.count(rank) > 0},
                   {"awaited", awaited.count(rank) > 0}});
  }
  return all;
}

Json LivePage::EventsJson() const {
  Json all = Json::array();
  for (const Event& event : events_) {
    all.push_back(
        {{"time", absl::ToUnixMillis(event.time)}, {"text", event.text}});
  }
  return all;
}

std::string LivePage::State() const {
  Json json;
  {
    MutexLock lock(&mu_);
    json["begun"] = begun_;
    json["job"] = JobJson();
    json["now"] = NowJson();
    json["phases"] = PhasesJson();
    json["buckets"] = BucketsJson();
    json["history"] = HistoryJson();
    json["results"] = ResultsJson();
    json["servers"] = ServersJson();
    json["workers"] = WorkersJson();
    json["events"] = EventsJson();
  }
  return JsonText(json, /*indent=*/-1);
}

}  // namespace ps
