// Counts and traces a worker's exchanges with the servers.
#ifndef WORKER_EXCHANGE_ACCOUNT_H_
#define WORKER_EXCHANGE_ACCOUNT_H_

#include <cstdint>

#include "absl/time/time.h"
#include "compressors/compressor.h"
#include "transport/parameter_client.h"
#include "worker/exchange_stats.h"
#include "worker/trace_recorder.h"

namespace ps {

// A bucket's gradient, ready to be sent.
struct CompressedBucket {
  double seconds() const { return absl::ToDoubleSeconds(end - start); }

  int bucket = 0;
  int64_t num_elements = 0;
  EncodedGradient encoded;
  int64_t size_bytes = 0;  // The size of all payloads in `encoded`.
  absl::Time start;        // The start of the compression.
  absl::Time end;          // The end of the compression.
};

// A slice's answer that has been written to the worker's weights.
struct AppliedAnswer {
  double seconds() const { return absl::ToDoubleSeconds(end - start); }

  const SliceAnswer& answer;
  absl::Time start;  // The start of writing the weights.
  absl::Time end;    // The end of writing the weights.
};

// The account of exchanges. Begin and End enclose each one. Not thread-safe.
class ExchangeAccount {
 public:
  // Records all following exchanges in `trace`, which is not owned; null ends
  // the recording.
  void Trace(TraceRecorder* trace) { trace_ = trace; }
  TraceRecorder* trace() const { return trace_; }

  void Begin();

  // Adds a compressed bucket. `row` names the thread that did this.
  void Compressed(const CompressedBucket& compressed, TraceRecorder::Row row);
  void Applied(const AppliedAnswer& applied, TraceRecorder::Row row);

  // Adds the positions of another worker, which have arrived.
  void PositionsArrived(const PositionsAnswer& answer) {
    stats_.bytes_down += answer.bytes_down;
  }

  // Adds the time of a separate thread's work beside the computation.
  void Overlapped(double seconds) { stats_.timings.overlapped += seconds; }
  // With compressor "auto": adds the share of this worker's elements that lie
  // in one bucket, or 0 if that bucket was sent whole.
  void AddCompressedShare(double share) {
    stats_.compressed_share = stats_.compressed_share.value_or(0) + share;
  }

  // Starts the wait: from now on the worker only waits for answers and applies
  // them. It began to wait for its separate thread at `start`.
  void BeginAwait(absl::Time start);
  // Ends the exchange. Returns everything except next_push.
  ExchangeStats End();

 private:
  TraceRecorder* trace_ = nullptr;  // Null if nothing is recorded.
  ExchangeStats stats_;
  int64_t num_answers_ = 0;
  absl::Time first_push_;
  absl::Time last_answer_;
  absl::Time await_start_;
  double applied_before_await_ = 0;  // Seconds.
};

}  // namespace ps

#endif  // WORKER_EXCHANGE_ACCOUNT_H_
