// What workers that train different stages send each other: each worker has one
// stage, and neighbours exchange what is at the cut between them.
#ifndef WORKER_LAYER_PARALLEL_STAGE_LINKS_H_
#define WORKER_LAYER_PARALLEL_STAGE_LINKS_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compressors/value_codes/two_byte_formats.h"
#include "proto/layer_parallel_config.pb.h"
#include "transport/stage_exchange.h"

namespace ps {

// The code of a value where FP16 travels. NaN stays NaN: it must not look like
// a value, or an iteration that is left out would seem to be one like others.
inline uint16_t NarrowForWire(float x) {
  constexpr uint16_t kNan = 0x7e00;
  return std::isnan(x) ? kNan : Fp16::Narrow(x);
}

// All workers make the same calls in the same order, each as its stage needs
// them, and start together, at the beginning or from a snapshot. Not
// thread-safe. Errors: those of the exchange.
class StageLinks {
 public:
  // Worker k has stage k.
  StageLinks(int worker, int num_workers)
      : worker_(worker), num_workers_(num_workers) {}

  int worker() const { return worker_; }
  int num_workers() const { return num_workers_; }

  // Must come before all calls below. Not owned; outlives the links.
  void Connect(StageExchange* exchange) { exchange_ = exchange; }

  // Forward: to the next stage. Backward: to the stage before. Values must be
  // such that `wire` does not round them.
  absl::Status SendForward(const float* values, int64_t size,
                           LayerParallelConfig::WireFormat wire);
  absl::Status SendBackward(const float* values, int64_t size,
                            LayerParallelConfig::WireFormat wire);
  // What the neighbour has sent, of this size.
  absl::Status ReceiveForward(int64_t size,
                              LayerParallelConfig::WireFormat wire,
                              std::vector<float>* values);
  absl::Status ReceiveBackward(int64_t size,
                               LayerParallelConfig::WireFormat wire,
                               std::vector<float>* values);

  // The values of all workers, in their order. Each has from none to `most` of
  // them. Errors: also kDataLoss if another worker says that it has more.
  absl::StatusOr<std::vector<float>> Gather(const std::vector<float>& own,
                                            int64_t most);

  // Time that calls have waited for other workers, and bytes that they have
  // sent, since the beginning.
  absl::Duration waited() const { return waited_; }
  int64_t bytes() const { return bytes_; }

 private:
  enum Stream { kForward = 0, kBackward = 1, kGathered = 2 };

  absl::Status Send(int to, Stream stream, int64_t number,
                    LayerParallelConfig::WireFormat wire, const float* values,
                    int64_t size);
  absl::Status Receive(int from, Stream stream, int64_t number,
                       LayerParallelConfig::WireFormat wire, int64_t size,
                       std::vector<float>* values);

  const int worker_;
  const int num_workers_;
  StageExchange* exchange_ = nullptr;
  // The next numbers.
  int64_t sent_forward_ = 0;
  int64_t sent_backward_ = 0;
  int64_t received_forward_ = 0;
  int64_t received_backward_ = 0;
  int64_t gathered_ = 0;
  absl::Duration waited_;
  int64_t bytes_ = 0;
};

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_STAGE_LINKS_H_
