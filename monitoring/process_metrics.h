// What every program says about itself.
#ifndef MONITORING_PROCESS_METRICS_H_
#define MONITORING_PROCESS_METRICS_H_

#include <memory>

#include "prometheus/collectable.h"

namespace ps {

// Memory, processor time, open files and start under the names that
// Prometheus's own client libraries use (process_resident_memory_bytes and so
// on), from /proc/self.
std::shared_ptr<prometheus::Collectable> ProcessMetrics();

}  // namespace ps

#endif  // MONITORING_PROCESS_METRICS_H_
