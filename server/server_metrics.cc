#include "server/server_metrics.h"

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "monitoring/buckets.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace ps {

using ::prometheus::BuildCounter;
using ::prometheus::BuildGauge;
using ::prometheus::BuildHistogram;
using ::prometheus::Counter;
using ::prometheus::Family;
using ::prometheus::Histogram;

ServerMetrics::ServerMetrics(const JobConfig& config, int index)
    : registry_(std::make_shared<prometheus::Registry>()) {
  BuildGauge()
      .Name("gradsieve_server_info")
      .Help("1; the labels say what runs here.")
      .Register(*registry_)
      .Add({{"version", kVersion},
            {"job", config.name()},
            {"index", absl::StrCat(index)}})
      .Set(1);
  calls_ = &BuildCounter()
                .Name("gradsieve_server_calls_total")
                .Help(
                    "Calls that ended, by method and gRPC status; those with "
                    "another status than OK were refused or cut off.")
                .Register(*registry_);
  Family<Counter>& received =
      BuildCounter()
          .Name("gradsieve_server_received_bytes_total")
          .Help("Messages from workers, by what they carry.")
          .Register(*registry_);
  pushes_received_ = &received.Add({{"kind", "push"}});
  initial_weights_received_ = &received.Add({{"kind", "initial_weights"}});
  Family<Counter>& sent =
      BuildCounter()
          .Name("gradsieve_server_sent_bytes_total")
          .Help(
              "Answers to workers, by what they carry: all weights, or what "
              "changed in them.")
          .Register(*registry_);
  weights_sent_ = &sent.Add({{"kind", "weights"}});
  differences_sent_ = &sent.Add({{"kind", "difference"}});
  Family<Histogram>& phases =
      BuildHistogram()
          .Name("gradsieve_server_push_seconds")
          .Help(
              "Time of a push at this server: held from its arrival to its "
              "answer, of which it waited for other workers, and the work on "
              "its update.")
          .Register(*registry_);
  held_ = &phases.Add({{"phase", "held"}}, SecondsBuckets());
  wait_ = &phases.Add({{"phase", "wait"}}, SecondsBuckets());
  sum_ = &phases.Add({{"phase", "sum"}}, SecondsBuckets());
  optimizer_ = &phases.Add({{"phase", "optimizer"}}, SecondsBuckets());
  encode_ = &phases.Add({{"phase", "encode"}}, SecondsBuckets());
  staleness_ = &BuildHistogram()
                    .Name("gradsieve_server_staleness_updates")
                    .Help(
                        "Others' updates between the weights of a push and "
                        "its own update, where workers drift apart.")
                    .Register(*registry_)
                    .Add({}, UpdatesBuckets());
  log_seconds_ = &BuildHistogram()
                      .Name("gradsieve_server_log_append_seconds")
                      .Help(
                          "Time to write down an update before it is "
                          "answered.")
                      .Register(*registry_)
                      .Add({}, SecondsBuckets());
  log_bytes_ = &BuildCounter()
                    .Name("gradsieve_server_log_bytes_total")
                    .Help("Bytes written to the log of updates.")
                    .Register(*registry_)
                    .Add({});
  snapshot_seconds_ = &BuildHistogram()
                           .Name("gradsieve_server_snapshot_seconds")
                           .Help("Time to write a snapshot, beside training.")
                           .Register(*registry_)
                           .Add({}, SecondsBuckets());
  snapshot_failures_ = &BuildCounter()
                            .Name("gradsieve_server_snapshot_failures_total")
                            .Help("Snapshots that could not be written.")
                            .Register(*registry_)
                            .Add({});
}

ServerMetrics::~ServerMetrics() {
  // gRPC has ended every call. The lock makes this visible to ThreadSanitizer,
  // which does not see gRPC's own locks.
  MutexLock lock(&mutex_);
}

void ServerMetrics::CallEnded(const std::string& method,
                              absl::StatusCode code) {
  Counter* counter = nullptr;
  {
    // The library's own search for the labels takes microseconds.
    MutexLock lock(&mutex_);
    Counter*& known = call_counters_[{method, code}];
    if (known == nullptr) {
      known = &calls_->Add(
          {{"method", method}, {"code", absl::StatusCodeToString(code)}});
    }
    counter = known;
  }
  counter->Increment();
}

void ServerMetrics::PushReceived(int64_t bytes) {
  pushes_received_->Increment(static_cast<double>(bytes));
}

void ServerMetrics::InitialWeightsReceived(int64_t bytes) {
  initial_weights_received_->Increment(static_cast<double>(bytes));
}

void ServerMetrics::Sent(bool difference, int64_t bytes) {
  (difference ? differences_sent_ : weights_sent_)
      ->Increment(static_cast<double>(bytes));
}

void ServerMetrics::PushAnswered(const ServerTimings& timings,
                                 int64_t staleness) {
  held_->Observe(timings.held);
  wait_->Observe(timings.wait);
  sum_->Observe(timings.sum);
  optimizer_->Observe(timings.optimizer);
  encode_->Observe(timings.encode);
  staleness_->Observe(static_cast<double>(staleness));
}

void ServerMetrics::LogAppended(absl::Duration took, int64_t bytes) {
  log_seconds_->Observe(absl::ToDoubleSeconds(took));
  log_bytes_->Increment(static_cast<double>(bytes));
}

void ServerMetrics::SnapshotWritten(absl::Duration took,
                                    const absl::Status& result) {
  if (result.ok()) {
    snapshot_seconds_->Observe(absl::ToDoubleSeconds(took));
  } else {
    snapshot_failures_->Increment();
  }
}

}  // namespace ps
