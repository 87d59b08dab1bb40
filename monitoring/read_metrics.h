// Defines metrics whose values are read when Prometheus asks for them.
#ifndef MONITORING_READ_METRICS_H_
#define MONITORING_READ_METRICS_H_

#include <functional>
#include <string>
#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace ps {

// A set of metrics. Not thread-safe while metrics are added; then thread-safe
// if the functions are, which run on the thread that collects.
class ReadMetrics final : public prometheus::Collectable {
 public:
  using Read = std::function<double()>;
  struct Labelled {
    std::string value;
    double reading = 0;
  };

  void AddGauge(const std::string& name, const std::string& help, Read read);
  // Adds a counter, which never decreases; the name ends in _total.
  void AddCounter(const std::string& name, const std::string& help, Read read);
  // Adds one gauge for each value of a label.
  void AddGauges(const std::string& name, const std::string& help,
                 const std::string& label,
                 std::function<std::vector<Labelled>()> read);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Metric {
    prometheus::MetricFamily family;  // The family, without values.
    std::string label;
    std::function<std::vector<Labelled>()> read;
  };

  void Add(const std::string& name, const std::string& help,
           prometheus::MetricType type, const std::string& label,
           std::function<std::vector<Labelled>()> read);

  std::vector<Metric> metrics_;
};

}  // namespace ps

#endif  // MONITORING_READ_METRICS_H_
