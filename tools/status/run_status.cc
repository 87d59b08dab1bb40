#include <sys/stat.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/metric.h"
#include "common/status_macros.h"
#include "tools/command_line/human_format.h"
#include "tools/command_line/progress.h"
#include "tools/report/run_records.h"
#include "tools/status/status.h"

namespace ps {
namespace {

std::string Line(const std::string& name, const std::string& value) {
  return absl::StrFormat("  %-16s %s\n", name, value);
}

std::string Traffic(double bytes, double dense) {
  std::string text = FormatBytes(static_cast<int64_t>(bytes));
  if (dense > 0)
    absl::StrAppendFormat(&text, ", %.2f %% of dense", 100 * bytes / dense);
  return text;
}

// Of the last change of a file; the distant past if there is none.
absl::Time ChangedAt(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return absl::InfinitePast();
  return absl::TimeFromTimespec(status.st_mtim);
}

}  // namespace

absl::StatusOr<RunStatus> ReadRunStatus(const std::string& directory,
                                        absl::Time now) {
  PS_ASSIGN_OR_RETURN(const RunRecords run, ReadRunRecords(directory));
  const bool done =
      ChangedAt(directory + "/summary.json") != absl::InfinitePast();
  // The file may have grown since `now` was asked for.
  const absl::Duration ago = std::max(
      absl::ZeroDuration(), now - ChangedAt(directory + "/metrics.jsonl"));
  const int64_t total = static_cast<int64_t>(run.total_iterations);
  const int64_t made =
      run.iterations.empty()
          ? 0
          : static_cast<int64_t>(run.iterations.back().iteration);
  RunStatus status;
  status.json = {{"job", run.job},
                 {"done", done},
                 {"iteration", made},
                 {"total_iterations", total},
                 {"seconds_since_last_record", absl::ToDoubleSeconds(ago)}};
  status.text =
      absl::StrCat(run.job, " (", run.model, ", ", run.compressor, "): ",
                   done ? "done"
                        : absl::StrCat("not done; last recorded ",
                                       FormatTimeSpan(ago), " ago"),
                   "\n");
  // A script of the user's does not tell how many it will make.
  std::string progress =
      total > 0 ? absl::StrCat(FormatCount(made), " of ", FormatCount(total))
                : FormatCount(made);
  if (!done && made > 0 && total > 0) {
    const absl::Duration left =
        EstimateRemaining(made, total, absl::Seconds(run.seconds));
    absl::StrAppend(&progress, ", ", FormatTimeSpan(left), " to go");
    status.json["seconds_to_go"] = absl::ToDoubleSeconds(left);
  }
  status.text += Line("iteration", progress);
  if (made == 0) return status;
  const double loss = run.iterations.back().training_loss;
  status.text += Line("training loss", absl::StrFormat("%.4f", loss));
  status.json["training_loss"] = loss;
  if (!run.evaluations.empty()) {
    const EvaluationRow& last = run.evaluations.back();
    status.text += Line(
        MetricWords(run.metric),
        absl::StrCat(FormatMetric(run.metric, last.value), " after iteration ",
                     FormatCount(static_cast<int64_t>(last.iteration))));
    status.json[run.metric] = last.value;
  }
  status.text +=
      Line("training time", FormatTimeSpan(absl::Seconds(run.seconds)));
  status.text += Line("bytes up", Traffic(run.bytes_up, run.dense_bytes_up));
  status.text +=
      Line("bytes down", Traffic(run.bytes_down, run.dense_bytes_down));
  status.json["seconds"] = run.seconds;
  status.json["bytes_up"] = run.bytes_up;
  status.json["bytes_down"] = run.bytes_down;
  return status;
}

}  // namespace ps
