// Connects workers that train different stages: each worker has one stage, and
// neighbours exchange the values at the cut between them.
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

// Returns the code of a value that travels as FP16. NaN stays NaN: otherwise an
// iteration that is dropped would seem to be a normal one.
inline uint16_t NarrowForWire(float x) {
  constexpr uint16_t kNan = 0x7e00;
  return std::isnan(x) ? kNan : Fp16::Narrow(x);
}

// The links. All workers make the same calls in the same order, each as its
// stage needs them, and start together, at the beginning or from a snapshot.
// Not thread-safe. Errors: those of the exchange.
class StageLinks {
 public:
  // Worker k has stage k.
  StageLinks(int worker, int num_workers)
      : worker_(worker), num_workers_(num_workers) {}

  int worker() const { return worker_; }
  int num_workers() const { return num_workers_; }

  // Sets the exchange, before all calls below. Not owned; outlives the links.
  void Connect(StageExchange* exchange) { exchange_ = exchange; }

  // Send values to the next stage (forward) or to the stage before (backward).
  // `wire` must not round the values.
  absl::Status SendForward(const float* values, int64_t size,
                           LayerParallelConfig::WireFormat wire);
  absl::Status SendBackward(const float* values, int64_t size,
                            LayerParallelConfig::WireFormat wire);
  // Receive the values of the neighbour, of this size.
  absl::Status ReceiveForward(int64_t size,
                              LayerParallelConfig::WireFormat wire,
                              std::vector<float>* values);
  absl::Status ReceiveBackward(int64_t size,
                               LayerParallelConfig::WireFormat wire,
                               std::vector<float>* values);

  // Returns the values of all workers, in their order. Each has from none to
  // `most` of them. Errors: also kDataLoss if another worker claims to have
  // more.
  absl::StatusOr<std::vector<float>> Gather(const std::vector<float>& own,
                                            int64_t most);

  // The time that calls have waited for other workers, and the bytes that they
  // have sent, since the beginning.
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
  // The numbers of the next arrays.
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
