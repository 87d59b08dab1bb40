// Assigns elements to servers.
//
// Every bucket is cut into slices by its size alone. A slice computes in the
// same way on any server: draws, and the order of sums, depend on its number.
// So a job has the same bits on any number of servers. Workers and servers
// build the same map from the same few numbers.
#ifndef TRANSPORT_SHARD_MAP_H_
#define TRANSPORT_SHARD_MAP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace ps {

struct Slice {
  int bucket = 0;
  int index = 0;   // The index within the bucket.
  int number = 0;  // The number within the model.
  int server = 0;
  int place = 0;      // The index among its server's slices.
  int64_t begin = 0;  // The offset in the bucket, in elements.
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

struct ShardMapOptions {
  std::vector<int64_t> bucket_sizes;  // The elements of each; at least 1.
  // The number of last buckets that hold statistics.
  int64_t num_averaged_buckets = 0;
  int num_servers = 0;
  int64_t max_slice_elements = 0;
};

// The map. Immutable.
class ShardMap {
 public:
  // The size by which a bucket is cut: it has one slice for every
  // kElementsPerSlice elements that it has or begins, up to 4 slices. A larger
  // bucket has more, so that each slice fits a message. All slices of a bucket
  // have the same size, or differ by one element.
  static constexpr int64_t kElementsPerSlice = 1 << 11;

  // Creates the map. Slices are assigned in order, each to the server that has
  // the fewest elements so far; of several such, to the first. No two servers'
  // shares differ by more than the largest slice.
  //
  // Errors: kInvalidArgument for no buckets, for servers without a slice that
  // an optimizer updates, or for a number out of its range.
  static absl::StatusOr<ShardMap> Create(const ShardMapOptions& options);

  int num_buckets() const { return static_cast<int>(slices_.size()); }
  int num_servers() const { return num_servers_; }
  const std::vector<int64_t>& bucket_sizes() const { return bucket_sizes_; }

  // The slices of a bucket, ascending and without gaps.
  const std::vector<Slice>& slices(int bucket) const { return slices_[bucket]; }

  // The ends of a bucket's slices, for CompressorOptions::part_ends.
  std::vector<int64_t> SliceEnds(int bucket) const;

 private:
  ShardMap() = default;

  int num_servers_ = 0;
  std::vector<int64_t> bucket_sizes_;
  std::vector<std::vector<Slice>> slices_;  // [bucket]
};

}  // namespace ps

#endif  // TRANSPORT_SHARD_MAP_H_
