#include "monitoring/read_metrics.h"

#include <utility>

namespace ps {

void ReadMetrics::Add(const std::string& name, const std::string& help,
                      prometheus::MetricType type, const std::string& label,
                      std::function<std::vector<Labelled>()> read) {
  Metric metric;
  metric.family.name = name;
  metric.family.help = help;
  metric.family.type = type;
  metric.label = label;
  metric.read = std::move(read);
  metrics_.push_back(std::move(metric));
}

void ReadMetrics::AddGauge(const std::string& name, const std::string& help,
                           Read read) {
  Add(name, help, prometheus::MetricType::Gauge, "", [read = std::move(read)] {
    return std::vector<Labelled>{{"", read()}};
  });
}

void ReadMetrics::AddCounter(const std::string& name, const std::string& help,
                             Read read) {
  Add(name, help, prometheus::MetricType::Counter, "",
      [read = std::move(read)] {
        return std::vector<Labelled>{{"", read()}};
      });
}

void ReadMetrics::AddGauges(const std::string& name, const std::string& help,
                            const std::string& label,
                            std::function<std::vector<Labelled>()> read) {
  Add(name, help, prometheus::MetricType::Gauge, label, std::move(read));
}

std::vector<prometheus::MetricFamily> ReadMetrics::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  for (const Metric& metric : metrics_) {
    families.push_back(metric.family);
    for (const Labelled& value : metric.read()) {
      prometheus::ClientMetric& one = families.back().metric.emplace_back();
      if (!metric.label.empty()) one.label = {{metric.label, value.value}};
      // Prometheus writes only the one of the family's type.
      one.gauge.value = value.reading;
      one.counter.value = value.reading;
    }
  }
  return families;
}

}  // namespace ps
