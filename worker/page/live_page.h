// Describes a job in training for worker 0's page.
#ifndef WORKER_PAGE_LIVE_PAGE_H_
#define WORKER_PAGE_LIVE_PAGE_H_

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/json.h"
#include "common/metric.h"
#include "common/mutex.h"
#include "transport/cluster_watch.h"
#include "worker/page/history.h"
#include "worker/records/training_observer.h"

namespace ps {

// The state of the page. Thread-safe.
class LivePage final : public TrainingObserver {
 public:
  // `servers` are the addresses of the job's servers. Records in
  // RUN_DIRECTORY/metrics.jsonl of an earlier part of the run are shown, too;
  // if it is empty, there is no such file.
  LivePage(std::vector<std::string> servers, std::string run_directory);

  void Begins(const RunHeader& header) override;
  void Iteration(const IterationRecord& record) override;
  void Evaluated(const std::vector<Metric>& metrics) override;
  void SnapshotWritten(absl::Duration took,
                       const absl::Status& result) override;

  // The handler for ClusterWatch.
  void Heard(int server, const ServerReport& report);

  // Returns the state as a JSON object; worker/page/page.js reads it.
  std::string State() const;

 private:
  // The error of one bucket's compressor relative to its target.
  struct Bucket {
    CompressionStats latest;
    int64_t num = 0;  // Pushes with a target, except the first.
    double sum = 0;   // The sum of sent over target.
    int64_t num_within_20 = 0;
  };
  struct Result {
    HistoryPoint at;
    double value = 0;
  };
  struct Event {
    absl::Time time;
    std::string text;
  };

  void ReadEarlierRecords() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddPoint(const HistoryPoint& point) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddEvent(std::string text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns the ranks that any server reports as missing.
  std::set<int> MissingRanks() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Json JobJson() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Json NowJson() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Json PhasesJson() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Json BucketsJson() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Json HistoryJson() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Json ResultsJson() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Json ServersJson() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Json WorkersJson() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Json EventsJson() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::vector<std::string> servers_;
  const std::string run_directory_;

  mutable Mutex mu_;
  bool begun_ ABSL_GUARDED_BY(mu_) = false;
  RunHeader header_ ABSL_GUARDED_BY(mu_);
  IterationRecord latest_ ABSL_GUARDED_BY(mu_);
  double residual_norm_ ABSL_GUARDED_BY(mu_) = 0;
  double gradient_norm_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t num_pushes_ ABSL_GUARDED_BY(mu_) = 0;  // The pushes of this process.
  History history_ ABSL_GUARDED_BY(mu_);
  // The latest pushes, for means of times.
  std::deque<IterationRecord> recent_ ABSL_GUARDED_BY(mu_);
  std::vector<Bucket> buckets_ ABSL_GUARDED_BY(mu_);
  std::string metric_ ABSL_GUARDED_BY(mu_);  // "accuracy".
  std::vector<Result> results_ ABSL_GUARDED_BY(mu_);
  std::vector<ServerReport> reports_ ABSL_GUARDED_BY(mu_);  // [server]
  std::set<int> missing_ ABSL_GUARDED_BY(mu_);
  // "worker 1", "server 0": the processes whose loss is an event.
  std::set<std::string> lost_ ABSL_GUARDED_BY(mu_);
  std::deque<Event> events_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // WORKER_PAGE_LIVE_PAGE_H_
