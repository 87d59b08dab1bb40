#include "tools/report/plot_data.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "common/metric.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The value below which this share of the sorted values lies, interpolated
// between neighbours; null if there are none.
Json Quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return nullptr;
  const double place = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] +
         (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

template <typename Row>
using Columns =
    std::vector<std::pair<const char*, std::function<double(const Row&)>>>;

template <typename Row>
Json Table(const std::vector<Row>& rows, const Columns<Row>& columns) {
  const size_t group = (rows.size() + kMostPoints - 1) / kMostPoints;
  Json table = Json::object();
  for (const auto& [name, value] : columns) {
    Json column;
    bool any = false;
    for (size_t begin = 0; begin < rows.size(); begin += group) {
      std::vector<double> values;
      for (size_t i = begin; i < std::min(rows.size(), begin + group); ++i) {
        const double number = value(rows[i]);
        if (std::isfinite(number)) values.push_back(number);
      }
      std::sort(values.begin(), values.end());
      any = any || !values.empty();
      column["y"].push_back(Quantile(values, 0.5));
      if (group == 1) continue;
      column["low"].push_back(Quantile(values, 0.25));
      column["high"].push_back(Quantile(values, 0.75));
    }
    if (any) table[name] = std::move(column);
  }
  return table;
}

Json Iterations(const RunRecords& run) {
  const std::vector<IterationRow>& rows = run.iterations;
  return Table<IterationRow>(
      rows,
      {{"iteration", &IterationRow::iteration},
       {"seconds", &IterationRow::seconds},
       {"bytes",
        [](const IterationRow& row) { return row.bytes_up + row.bytes_down; }},
       {"training_loss", &IterationRow::training_loss},
       {"throughput",
        [&rows](const IterationRow& row) {
          if (&row == rows.data()) return kNaN;
          const IterationRow& before = *(&row - 1);
          const double seconds = row.seconds - before.seconds;
          return seconds > 0 ? (row.samples - before.samples) / seconds : kNaN;
        }},
       {"bytes_up", &IterationRow::bytes_up},
       {"bytes_down", &IterationRow::bytes_down},
       // A compressor without a target counts against all elements.
       {"ratio",
        [&run](const IterationRow& row) {
          return std::isfinite(run.target_ratio) ? row.count / row.target_count
                                                 : kNaN;
        }},
       {"compressed_share",
        [](const IterationRow& row) {
          return row.compressed_share.value_or(kNaN);
        }},
       {"stages",
        [](const IterationRow& row) {
          return row.stages > 0 ? row.stages : kNaN;
        }},
       // Zero, without a residual, has no place on a logarithmic axis.
       {"residual_norm", [](const IterationRow& row) {
          return row.residual_norm > 0.0 ? *row.residual_norm : kNaN;
        }}});
}

}  // namespace

Json RunPlotData(const RunRecords& run, const std::string& label) {
  return {{"label", label},
          {"metric", MetricWords(run.metric)},
          {"is_fraction", IsFraction(run.metric)},
          {"iterations", Iterations(run)},
          {"evaluations",
           Table<EvaluationRow>(run.evaluations,
                                {{"iteration", &EvaluationRow::iteration},
                                 {"seconds", &EvaluationRow::seconds},
                                 {"bytes", &EvaluationRow::bytes},
                                 {"value", &EvaluationRow::value},
                                 {"loss", &EvaluationRow::loss}})}};
}

}  // namespace ps
