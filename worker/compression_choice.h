// Tracks which buckets are compressed with compressor "auto", and gives worker
// 0 the measurements on which it decides.
#ifndef WORKER_COMPRESSION_CHOICE_H_
#define WORKER_COMPRESSION_CHOICE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/automatic/chooser.h"
#include "compressors/automatic/exchange_costs.h"
#include "compressors/compressor.h"
#include "compressors/state_io.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// The choice. Does nothing with any other compressor. Not thread-safe.
class CompressionChoice {
 public:
  // Worker 0 decides for all: a push carries its choice, and the answers tell
  // all workers.
  CompressionChoice(const CompressorConfig& config, int worker_rank,
                    int num_buckets);

  // Whether compressor "auto" is configured.
  bool automatic() const { return automatic_; }

  // Like NewCompressor. A compressor "auto" follows the choice for its bucket,
  // and must not outlive this object.
  absl::StatusOr<std::unique_ptr<Compressor>> MakeCompressor(
      const CompressorOptions& options) const;

  // Begins an iteration, which follows the choices in the last one's answers.
  void Begin() { compressed_ = compressed_next_; }

  // Returns whether worker 0 wants the bucket compressed next time; nullopt on
  // other workers.
  std::optional<bool> Wanted(int bucket) const;
  // Stores the choice that an answer carries.
  void Told(int bucket, bool compressed) {
    compressed_next_[bucket] = compressed;
  }

  // Save and load the choice, for checkpoints. The measurements of worker 0 are
  // not saved: it measures anew.
  void Save(StateWriter* writer) const;
  absl::Status Load(StateReader* reader);

  // Adds to the costs of a bucket in this exchange.
  void Add(int bucket, const BucketCosts& costs);

  // Reports the time of all iterations of push number `push`. Logs decisions.
  void IterationTook(double seconds, int64_t push);

 private:
  const bool automatic_;
  const int worker_rank_;
  // Null except on worker 0.
  std::unique_ptr<CompressionChooser> chooser_;
  // [bucket], whether this iteration compresses a bucket. Compressors keep a
  // pointer to it.
  std::vector<bool> compressed_;
  std::vector<bool> compressed_next_;
  ExchangeCosts costs_;  // The costs of the current exchange so far.
};

}  // namespace ps

#endif  // WORKER_COMPRESSION_CHOICE_H_
