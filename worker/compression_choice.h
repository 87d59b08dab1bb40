// With compressor "auto": which buckets are compressed, and what worker 0
// learns about it from each exchange.
#ifndef WORKER_COMPRESSION_CHOICE_H_
#define WORKER_COMPRESSION_CHOICE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "compressors/automatic/chooser.h"
#include "compressors/automatic/exchange_costs.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// Costs nothing with any other compressor. Not thread-safe.
class CompressionChoice {
 public:
  // Worker 0 decides for all: a push carries its choice, and the answers tell
  // all workers.
  CompressionChoice(const CompressorConfig& config, int worker_rank,
                    int num_buckets);

  // "auto" is configured.
  bool automatic() const { return automatic_; }

  // What this iteration does, at which compressors look: [bucket], at an
  // address that stays.
  const std::vector<bool>& compressed() const { return compressed_; }

  // An iteration begins: what the last one's answers said is done.
  void Begin() { compressed_ = compressed_next_; }

  // What worker 0 wants of a bucket next time; none on the other workers.
  std::optional<bool> Wanted(int bucket) const;
  // What an answer said of it.
  void Told(int bucket, bool compressed) {
    compressed_next_[bucket] = compressed;
  }

  // What a bucket has cost, in addition to what was said of it before.
  void Add(int bucket, const BucketCosts& costs);

  // The iteration of push number `push` took so long, all around it included;
  // without an exchange, it counts with the next that has one. Logs what is
  // decided.
  void IterationTook(double seconds, bool with_exchange, int64_t push);

 private:
  const bool automatic_;
  const int worker_rank_;
  std::unique_ptr<CompressionChooser> chooser_;  // Of worker 0.
  std::vector<bool> compressed_;
  std::vector<bool> compressed_next_;
  ExchangeCosts costs_;  // Of this exchange, as it goes on.
};

}  // namespace ps

#endif  // WORKER_COMPRESSION_CHOICE_H_
