// Defines the Prometheus metrics of a worker and, if it is worker 0, of the
// whole job.
#ifndef WORKER_RECORDS_WORKER_METRICS_H_
#define WORKER_RECORDS_WORKER_METRICS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/metric.h"
#include "common/mutex.h"
#include "worker/records/run_recorder.h"
#include "worker/records/training_observer.h"

namespace prometheus {
class Collectable;
class Counter;
template <typename T>
class Family;
class Histogram;
class Registry;
}  // namespace prometheus

namespace ps {

class ReadMetrics;

// Counts events in a worker. Each scrape explains the names. Thread-safe.
class WorkerMetrics final : public TrainingObserver {
 public:
  explicit WorkerMetrics(int rank);

  void Begins(const RunHeader& header) override;
  void Iteration(const IterationRecord& record) override;
  void Evaluated(const std::vector<Metric>& metrics) override;
  void SnapshotWritten(absl::Duration took,
                       const absl::Status& result) override;

  std::vector<std::shared_ptr<prometheus::Collectable>> sources() const;

 private:
  void AddOwn();
  void AddJob();

  const int rank_;
  const std::shared_ptr<prometheus::Registry> registry_;
  const std::shared_ptr<ReadMetrics> read_;
  // The registry owns it.
  prometheus::Histogram* iteration_;
  prometheus::Histogram* compute_;
  prometheus::Histogram* compress_;
  prometheus::Histogram* await_;
  prometheus::Histogram* apply_;
  prometheus::Histogram* staleness_;
  prometheus::Histogram* snapshot_seconds_;
  prometheus::Counter* snapshot_failures_;
  prometheus::Counter* retries_;
  prometheus::Family<prometheus::Counter>* fallbacks_;

  mutable Mutex mu_;
  RunHeader header_ ABSL_GUARDED_BY(mu_);
  IterationRecord latest_ ABSL_GUARDED_BY(mu_);
  // This is not measured in every iteration.
  double residual_norm_ ABSL_GUARDED_BY(mu_) = 0;
  double gradient_norm_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Metric> evaluation_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // WORKER_RECORDS_WORKER_METRICS_H_
