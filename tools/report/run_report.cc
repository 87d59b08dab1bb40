#include "tools/report/run_report.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/counted.h"
#include "common/file.h"
#include "common/json.h"
#include "common/metric.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/human_format.h"

namespace ps {
namespace {

// A summary's numbers by name. Remembers a missing one.
class Summary {
 public:
  explicit Summary(Json json) : json_(std::move(json)) {}

  bool Has(const std::string& name) const { return json_.contains(name); }

  // Null if it is not there.
  Json Field(const std::string& name) const {
    return Has(name) ? json_.at(name) : Json();
  }

  double Number(const std::string& name) {
    const auto it = json_.find(name);
    if (it != json_.end() && it->is_number()) return it->get<double>();
    // In JSON, null stands for a number that is not finite.
    if (it != json_.end() && it->is_null()) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    missing_ = name;
    return 0;
  }

  std::string Text(const std::string& name) {
    const auto it = json_.find(name);
    if (it != json_.end() && it->is_string()) return it->get<std::string>();
    missing_ = name;
    return "";
  }

  const std::string& missing() const { return missing_; }

 private:
  const Json json_;
  std::string missing_;
};

std::string Line(const std::string& name, const std::string& value) {
  return absl::StrFormat("  %-16s %s\n", name, value);
}

std::string Traffic(Summary* summary, const char* name,
                    const char* dense_name) {
  const double bytes = summary->Number(name);
  const double dense = summary->Number(dense_name);
  return absl::StrFormat("%s, %.2f %% of the dense %s",
                         FormatBytes(static_cast<int64_t>(bytes)),
                         dense > 0 ? 100 * bytes / dense : 0,
                         FormatBytes(static_cast<int64_t>(dense)));
}

// Empty if no best weights were kept.
std::string BestLine(const Summary& summary) {
  const Json group = summary.Field("best");
  if (!group.is_object()) return "";
  Summary best(group);
  std::string line;
  for (const auto& [name, value] : group.items()) {
    if (!absl::StartsWith(name, "test_")) continue;
    line = Line(absl::StrCat("best ", MetricWords(name).substr(5)),
                absl::StrFormat("%s after %.0f iterations (best.safetensors)",
                                FormatMetric(name, best.Number(name)),
                                best.Number("iteration")));
  }
  return line;
}

}  // namespace

absl::StatusOr<std::string> RunReport(const std::string& run_directory) {
  const std::string path = absl::StrCat(run_directory, "/summary.json");
  PS_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  Json json = ParseJson(text);
  if (!json.is_object()) {
    return absl::DataLossError(absl::StrCat(path, " is not a JSON object"));
  }
  Summary summary(std::move(json));
  const auto whole = [&summary](const char* name) {
    return static_cast<int64_t>(summary.Number(name));
  };
  std::string report = absl::StrFormat(
      "%s: %s with %s, %s, %s, %s\n", summary.Text("job"),
      summary.Text("model"), Counted(whole("num_parameters"), "parameter"),
      summary.Text("compressor"), Counted(whole("num_workers"), "worker"),
      Counted(whole("num_servers"), "server"));
  for (const std::string& name :
       {summary.Text("metric"), std::string("test_loss")}) {
    report += Line(MetricWords(name), FormatMetric(name, summary.Number(name)));
  }
  report += BestLine(summary);
  report += Line(
      "iterations",
      absl::StrFormat(
          "%.0f in %.1f s%s", summary.Number("iterations"),
          summary.Number("seconds"),
          summary.Field("stopped_early") == true ? ", stopped early" : ""));
  report += Line(
      "throughput",
      absl::StrFormat("%.0f samples/s", summary.Number("samples_per_second")));
  report += Line("achieved ratio",
                 absl::StrFormat("%.5f", summary.Number("achieved_ratio")));
  if (summary.Has("compressed_share")) {
    // The rest was sent whole.
    report += Line("compressed",
                   absl::StrFormat("%.1f %% of all iterations' elements",
                                   100 * summary.Number("compressed_share")));
  }
  report += Line("bytes up", Traffic(&summary, "bytes_up", "dense_bytes_up"));
  report +=
      Line("bytes down", Traffic(&summary, "bytes_down", "dense_bytes_down"));
  if (summary.Has("traffic_advice")) {
    report += Line("advice", summary.Text("traffic_advice"));
  }
  if (!summary.missing().empty()) {
    return absl::DataLossError(
        absl::StrCat(path, " has no field ", summary.missing()));
  }
  return report;
}

}  // namespace ps
