// What a worker asks servers for where workers share positions: a follower
// learns which elements the leader of a push has selected, and sends its values
// there.
#ifndef WORKER_WORKER_POSITIONS_H_
#define WORKER_WORKER_POSITIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/payload/payload_buffer.h"
#include "proto/config.pb.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"

namespace ps {

// Not thread-safe. If the job's workers share no positions, this worker leads
// each of its pushes.
class WorkerPositions {
 public:
  // `handler` gets what servers answer, and passes it to Take. The pointers are
  // not owned and must outlive the exchange.
  WorkerPositions(const JobConfig& config, int worker_rank, int num_buckets,
                  const ShardMap* shard_map, ParameterClient* client,
                  PositionsHandler handler);

  // Returns this bucket's CompressorOptions::shared_positions.
  const SharedPositions* For(int bucket) const;

  void Begin(int64_t push);
  // Reports that the bucket's gradient is final.
  void Ready(int bucket);
  // Whether this worker leads, or knows all of the leader's positions.
  bool Knows(int bucket) const { return !follows_ || arriving_[bucket] == 0; }
  void Take(const PositionsAnswer& answer);

  // Returns a follower's payloads: values without positions, except in slices
  // where it leads.
  std::vector<PayloadBuffer> ToPush(int bucket,
                                    const EncodedGradient& encoded) const;

 private:
  void Ask(int bucket);

  const int num_workers_;
  const int worker_rank_;
  // Whether this worker asks for a bucket's positions only when it can use
  // them: if updates may drop workers, servers wait as long for a leader as for
  // pushes, from the first call of another worker on.
  const bool asks_when_ready_;
  const ShardMap* const shard_map_;
  ParameterClient* const client_;
  const PositionsHandler handler_;
  int64_t push_ = 0;
  bool follows_ = false;  // Whether another worker leads this push.
  // [bucket]; empty if the workers share no positions.
  std::vector<SharedPositions> positions_;
  // [bucket][slice], positions in the slice, until all slices have theirs.
  std::vector<std::vector<std::vector<uint32_t>>> of_slices_;
  // [bucket], the number of slices without positions.
  std::vector<size_t> arriving_;
};

}  // namespace ps

#endif  // WORKER_WORKER_POSITIONS_H_
