#include "transport/shard_map.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// The largest size that a payload's indices can address.
constexpr int64_t kMaxBucketElements = (int64_t{1} << 32) - 1;

// A peer chooses the sizes of the buckets; this limit bounds the map's memory.
constexpr int64_t kMaxSlices = int64_t{1} << 18;

// This many slices of a bucket keep several servers, or several threads of one,
// busy at once. Each costs a message, and compressors that work on whole
// tensors send a part of their data with every slice.
constexpr int64_t kEnoughSlices = 4;

int64_t DivideUp(int64_t n, int64_t divisor) { return 1 + (n - 1) / divisor; }

// Returns the beginning of part `i` when [0, n) is cut into `parts` whose sizes
// differ by at most one. n * i stays below 2^63, because n < 2^32 and i <=
// 2^18.
int64_t EvenCut(int64_t n, int64_t parts, int64_t i) { return n * i / parts; }

// Assigns slices to servers.
class Dealer {
 public:
  explicit Dealer(int num_servers) : num_slices_(num_servers) {
    for (int i = 0; i < num_servers; ++i) servers_.emplace(0, i);
  }

  void Deal(Slice* slice) {
    const auto [load, server] = servers_.top();
    servers_.pop();
    servers_.emplace(load + slice->size(), server);
    slice->server = server;
    slice->place = num_slices_[server]++;
  }

 private:
  using Server = std::pair<int64_t, int>;  // Elements and index of a server.
  std::priority_queue<Server, std::vector<Server>, std::greater<Server>>
      servers_;
  std::vector<int> num_slices_;  // The number of slices of each server.
};

absl::Status Check(const ShardMapOptions& options) {
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
  for (size_t b = 0; b < options.bucket_sizes.size(); ++b) {
    const int64_t n = options.bucket_sizes[b];
    if (n < 1 || n > kMaxBucketElements) {
      return absl::InvalidArgumentError(
          absl::StrCat("bucket ", b, " has ", n, " elements; must be in [1, ",
                       kMaxBucketElements, "]"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ShardMap> ShardMap::Create(const ShardMapOptions& options) {
  PS_RETURN_IF_ERROR(Check(options));
  ShardMap map;
  map.num_servers_ = options.num_servers;
  map.bucket_sizes_ = options.bucket_sizes;
  Dealer dealer(options.num_servers);
  const int64_t num_optimized =
      static_cast<int64_t>(options.bucket_sizes.size()) -
      options.num_averaged_buckets;
  int64_t number = 0;
  int64_t optimized = 0;
  for (const int64_t n : options.bucket_sizes) {
    const int64_t pieces =
        std::max(DivideUp(n, options.max_slice_elements),
                 std::min(kEnoughSlices, DivideUp(n, kElementsPerSlice)));
    if (number + pieces > kMaxSlices) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the buckets make more than ", kMaxSlices,
          " slices of max_slice_elements = ", options.max_slice_elements,
          "; raise cluster.max_slice_elements"));
    }
    std::vector<Slice> slices(pieces);
    for (int64_t i = 0; i < pieces; ++i) {
      Slice& slice = slices[i];
      slice.bucket = map.num_buckets();
      slice.index = static_cast<int>(i);
      slice.number = static_cast<int>(number++);
      slice.begin = EvenCut(n, pieces, i);
      slice.end = EvenCut(n, pieces, i + 1);
      dealer.Deal(&slice);
    }
    map.slices_.push_back(std::move(slices));
    if (map.num_buckets() <= num_optimized) optimized = number;
  }
  // Each server gets one of the first slices, because it has none before.
  if (optimized < options.num_servers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cluster.num_servers is ", options.num_servers,
        ", but this model makes only ", optimized,
        " slices of weights, and some servers would have nothing to do; take "
        "fewer servers, or, in a new job, a smaller "
        "cluster.max_slice_elements"));
  }
  return map;
}

std::vector<int64_t> ShardMap::SliceEnds(int bucket) const {
  std::vector<int64_t> ends;
  for (const Slice& slice : slices_[bucket]) ends.push_back(slice.end);
  return ends;
}

}  // namespace ps
