#include "server/shard.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// A hostile peer must not make the server allocate without bound.
constexpr int64_t kMaxModelElements = int64_t{1} << 36;
constexpr size_t kMaxBuckets = 1 << 16;

std::string Describe(const ShardLayout& layout) {
  int64_t elements = 0;
  for (const int64_t size : layout.bucket_sizes) elements += size;
  std::string text =
      absl::StrCat(elements, " parameters in ", layout.bucket_sizes.size(),
                   " buckets, ", layout.total_iterations, " iterations");
  if (layout.num_averaged_buckets > 0) {
    absl::StrAppend(&text, ", ", layout.num_averaged_buckets,
                    " of the buckets averaged");
  }
  return text;
}

absl::Status CheckSizes(const ShardLayout& layout) {
  int64_t left = kMaxModelElements;
  for (const int64_t size : layout.bucket_sizes) {
    if (size < 1 || size > left) {
      return absl::InvalidArgumentError(
          absl::StrCat("bucket_sizes holds ", size,
                       "; each must be at least 1 and all together at most ",
                       kMaxModelElements));
    }
    left -= size;
  }
  if (layout.bucket_sizes.size() > kMaxBuckets) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", layout.bucket_sizes.size(),
                     " buckets; at most ", kMaxBuckets, " are allowed"));
  }
  if (layout.total_iterations < 1) {
    return absl::InvalidArgumentError(absl::StrCat("total_iterations is ",
                                                   layout.total_iterations,
                                                   "; must be at least 1"));
  }
  const int64_t num_buckets = static_cast<int64_t>(layout.bucket_sizes.size());
  if (layout.num_averaged_buckets < 0 ||
      (layout.num_averaged_buckets > 0 &&
       layout.num_averaged_buckets >= num_buckets)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_averaged_buckets is ", layout.num_averaged_buckets,
        "; must be at least 0 and leave one of the ", num_buckets, " buckets"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Shard::SetLayout(const ShardLayout& layout) {
  PS_RETURN_IF_ERROR(CheckSizes(layout));
  MutexLock lock(&mu_);
  PS_RETURN_IF_ERROR(failure_);
  if (!layout_.bucket_sizes.empty()) {
    if (layout == layout_) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "this worker has ", Describe(layout), "; the first one has ",
        Describe(layout_), ". Do both read the same data?"));
  }
  ShardMapOptions options;
  options.bucket_sizes = layout.bucket_sizes;
  options.num_servers = config_->cluster().num_servers();
  options.max_slice_elements = config_->cluster().max_slice_elements();
  PS_ASSIGN_OR_RETURN(const ShardMap map, ShardMap::Create(options));
  std::map<std::pair<int, int>, std::unique_ptr<WeightSlice>> slices;
  for (int b = 0; b < map.num_buckets(); ++b) {
    const UpdateRule rule = b < map.num_buckets() - layout.num_averaged_buckets
                                ? UpdateRule::kOptimizer
                                : UpdateRule::kMean;
    for (const Slice& slice : map.slices(b)) {
      if (slice.server != server_index_) continue;
      slices[std::make_pair(b, slice.index)] = std::make_unique<WeightSlice>(
          config_, slice.size(), layout.total_iterations, rule);
    }
  }
  slices_ = std::move(slices);
  layout_ = layout;
  return absl::OkStatus();
}

absl::StatusOr<WeightSlice*> Shard::Find(int bucket, int slice) const {
  MutexLock lock(&mu_);
  const auto it = slices_.find(std::make_pair(bucket, slice));
  if (it == slices_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("server ", server_index_, " does not hold slice ", slice,
                     " of bucket ", bucket));
  }
  return it->second.get();
}

void Shard::Fail(const absl::Status& failure) {
  // Not under the lock: a slice calls back whoever waits.
  std::vector<WeightSlice*> slices;
  {
    MutexLock lock(&mu_);
    failure_ = failure;
    for (const auto& entry : slices_) slices.push_back(entry.second.get());
  }
  for (WeightSlice* slice : slices) slice->Fail(failure);
}

WeightSlice* Shard::Slowest() const {
  MutexLock lock(&mu_);
  WeightSlice* slowest = nullptr;
  int64_t version = 0;
  for (const auto& entry : slices_) {
    // Statistics count their own updates.
    if (entry.second->rule() == UpdateRule::kMean) continue;
    const int64_t mine = entry.second->version();
    if (slowest != nullptr && mine >= version) continue;
    slowest = entry.second.get();
    version = mine;
  }
  return slowest;
}

int64_t Shard::version() const {
  const WeightSlice* const slowest = Slowest();
  return slowest == nullptr ? -1 : slowest->version();
}

std::set<int> Shard::AwaitedRanks() const {
  const WeightSlice* const slowest = Slowest();
  return slowest == nullptr ? std::set<int>() : slowest->AwaitedRanks();
}

}  // namespace ps
