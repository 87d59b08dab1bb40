// Defines the metrics that every program has.
#ifndef MONITORING_PROCESS_METRICS_H_
#define MONITORING_PROCESS_METRICS_H_

#include <memory>

#include "prometheus/collectable.h"

namespace ps {

// Returns memory, processor time, open files and start time under the names
// that Prometheus's own client libraries use (process_resident_memory_bytes and
// so on), from /proc/self.
std::shared_ptr<prometheus::Collectable> ProcessMetrics();

}  // namespace ps

#endif  // MONITORING_PROCESS_METRICS_H_
