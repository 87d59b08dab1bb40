// The assignment of elements to servers.
//
// Every bucket is split evenly over all servers, so that the load is even
// whatever the sizes of the layers. A server's share of a bucket is cut further
// into slices that fit one message. Workers and servers compute the same map
// from the same few numbers.
#ifndef TRANSPORT_SHARD_MAP_H_
#define TRANSPORT_SHARD_MAP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace ps {

struct Slice {
  int bucket = 0;
  int index = 0;  // Within the bucket, over all servers.
  int server = 0;
  int64_t begin = 0;  // In the bucket, in elements.
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

struct ShardMapOptions {
  std::vector<int64_t> bucket_sizes;  // Elements; at least 1 each.
  int num_servers = 0;
  int64_t max_slice_elements = 0;
};

// Immutable.
class ShardMap {
 public:
  // Errors: kInvalidArgument for no buckets, or a number out of its range.
  static absl::StatusOr<ShardMap> Create(const ShardMapOptions& options);

  int num_buckets() const { return static_cast<int>(slices_.size()); }
  int num_servers() const { return num_servers_; }
  const std::vector<int64_t>& bucket_sizes() const { return bucket_sizes_; }

  // The slices of a bucket, ascending and without gaps. If a bucket has fewer
  // elements than there are servers, some servers have no slice of it.
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
