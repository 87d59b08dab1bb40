#include "transport/shard_map.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ps {
namespace {

// The largest size that a payload's indices can address.
constexpr int64_t kMaxBucketElements = (int64_t{1} << 32) - 1;

// A peer chooses the sizes of the buckets; this limit bounds the map's memory.
constexpr int64_t kMaxSlices = int64_t{1} << 18;

// The beginning of part `i` when [0, n) is cut into `parts` whose sizes differ
// by at most one. n * i stays below 2^63, because n < 2^32 and i <= 2^18
// (kMaxSlices, which also limits the number of servers).
int64_t EvenCut(int64_t n, int64_t parts, int64_t i) { return n * i / parts; }

}  // namespace

absl::StatusOr<ShardMap> ShardMap::Create(const ShardMapOptions& options) {
  if (options.num_servers < 1 || options.num_servers > kMaxSlices) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_servers is ", options.num_servers,
                     "; must be in [1, ", kMaxSlices, "]"));
  }
  if (options.max_slice_elements < 1) {
    return absl::InvalidArgumentError(absl::StrCat("max_slice_elements is ",
                                                   options.max_slice_elements,
                                                   "; must be at least 1"));
  }
  if (options.bucket_sizes.empty()) {
    return absl::InvalidArgumentError("there are no buckets");
  }
  ShardMap map;
  map.num_servers_ = options.num_servers;
  map.bucket_sizes_ = options.bucket_sizes;
  int64_t slices_left = kMaxSlices;
  for (size_t b = 0; b < options.bucket_sizes.size(); ++b) {
    const int64_t n = options.bucket_sizes[b];
    if (n < 1 || n > kMaxBucketElements) {
      return absl::InvalidArgumentError(
          absl::StrCat("bucket ", b, " has ", n, " elements; must be in [1, ",
                       kMaxBucketElements, "]"));
    }
    std::vector<Slice> slices;
    for (int server = 0; server < options.num_servers; ++server) {
      const int64_t begin = EvenCut(n, options.num_servers, server);
      const int64_t share = EvenCut(n, options.num_servers, server + 1) - begin;
      const int64_t pieces =
          share == 0 ? 0 : 1 + (share - 1) / options.max_slice_elements;
      if (pieces > slices_left) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the buckets make more than ", kMaxSlices,
            " slices of max_slice_elements = ", options.max_slice_elements,
            "; raise cluster.max_slice_elements"));
      }
      slices_left -= pieces;
      for (int64_t p = 0; p < pieces; ++p) {
        Slice slice;
        slice.bucket = static_cast<int>(b);
        slice.index = static_cast<int>(slices.size());
        slice.server = server;
        slice.begin = begin + EvenCut(share, pieces, p);
        slice.end = begin + EvenCut(share, pieces, p + 1);
        slices.push_back(slice);
      }
    }
    map.slices_.push_back(std::move(slices));
  }
  return map;
}

std::vector<int64_t> ShardMap::SliceEnds(int bucket) const {
  std::vector<int64_t> ends;
  for (const Slice& slice : slices_[bucket]) ends.push_back(slice.end);
  return ends;
}

}  // namespace ps
