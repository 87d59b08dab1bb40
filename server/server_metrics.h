// Defines the Prometheus metrics of a server.
#ifndef SERVER_SERVER_METRICS_H_
#define SERVER_SERVER_METRICS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "proto/config.pb.h"
#include "transport/server_timings.h"

namespace prometheus {
class Counter;
template <typename T>
class Family;
class Histogram;
class Registry;
}  // namespace prometheus

namespace ps {

// Counts events. Each scrape explains the names. Thread-safe.
class ServerMetrics {
 public:
  ServerMetrics(const JobConfig& config, int index);
  ~ServerMetrics();

  // Counts the end of a call of this method of the service.
  void CallEnded(const std::string& method, absl::StatusCode code);

  // Counts messages whose header passed the checks, in bytes.
  void PushReceived(int64_t bytes);
  void InitialWeightsReceived(int64_t bytes);
  // Counts an answer with weights, or with their changes.
  void Sent(bool difference, int64_t bytes);

  // Counts the answer to one push. staleness: see WeightAnswer.
  void PushAnswered(const ServerTimings& timings, int64_t staleness);

  // Count a record of the log, or a snapshot, written or failed.
  void LogAppended(absl::Duration took, int64_t bytes);
  void SnapshotWritten(absl::Duration took, const absl::Status& result);

  std::shared_ptr<prometheus::Registry> registry() const { return registry_; }

 private:
  const std::shared_ptr<prometheus::Registry> registry_;
  // The registry owns the metrics.
  prometheus::Family<prometheus::Counter>* calls_;
  Mutex mutex_;
  absl::flat_hash_map<std::pair<std::string, absl::StatusCode>,
                      prometheus::Counter*>
      call_counters_ ABSL_GUARDED_BY(mutex_);
  prometheus::Counter* pushes_received_;
  prometheus::Counter* initial_weights_received_;
  prometheus::Counter* weights_sent_;
  prometheus::Counter* differences_sent_;
  prometheus::Histogram* held_;
  prometheus::Histogram* wait_;
  prometheus::Histogram* sum_;
  prometheus::Histogram* optimizer_;
  prometheus::Histogram* encode_;
  prometheus::Histogram* staleness_;
  prometheus::Histogram* log_seconds_;
  prometheus::Counter* log_bytes_;
  prometheus::Histogram* snapshot_seconds_;
  prometheus::Counter* snapshot_failures_;
};

}  // namespace ps

#endif  // SERVER_SERVER_METRICS_H_
