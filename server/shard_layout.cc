#include "server/shard_layout.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

// These limits bound the memory that a hostile peer makes a server allocate.
constexpr int64_t kMaxModelElements = int64_t{1} << 36;
constexpr size_t kMaxBuckets = 1 << 16;
constexpr size_t kMaxTensors = 1 << 16;

absl::Status CheckTensors(const ShardLayout& layout) {
  if (layout.tensor_sizes.size() > kMaxTensors) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", layout.tensor_sizes.size(),
                     " tensors; at most ", kMaxTensors, " are allowed"));
  }
  if (layout.tensor_is_matrix.size() != layout.tensor_sizes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor_is_matrix has ", layout.tensor_is_matrix.size(),
        " elements; there are ", layout.tensor_sizes.size(), " tensor_sizes"));
  }
  if (!layout.tensor_rates.empty() &&
      layout.tensor_rates.size() != layout.tensor_sizes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor_rates has ", layout.tensor_rates.size(),
        " elements; there are ", layout.tensor_sizes.size(), " tensor_sizes"));
  }
  for (const double rate : layout.tensor_rates) {
    if (std::isfinite(rate) && rate > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor_rates holds ", rate, "; each must be finite and above 0"));
  }
  size_t tensor = 0;
  for (size_t b = 0; b < layout.bucket_sizes.size(); ++b) {
    int64_t left = layout.bucket_sizes[b];
    while (left > 0 && tensor < layout.tensor_sizes.size()) {
      const int64_t size = layout.tensor_sizes[tensor];
      if (size < 1 || size > left) break;
      left -= size;
      ++tensor;
    }
    if (left > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor_sizes: those from the beginning of bucket ", b,
                       " on must be at least 1 and add up to its ",
                       layout.bucket_sizes[b], " elements"));
    }
  }
  if (tensor < layout.tensor_sizes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", layout.tensor_sizes.size(),
                     " tensor_sizes; ", tensor, " fill all buckets"));
  }
  return absl::OkStatus();
}

}  // namespace

bool ShardLayout::operator==(const ShardLayout& other) const {
  return bucket_sizes == other.bucket_sizes &&
         total_iterations == other.total_iterations &&
         num_averaged_buckets == other.num_averaged_buckets &&
         tensor_sizes == other.tensor_sizes &&
         tensor_is_matrix == other.tensor_is_matrix &&
         tensor_rates == other.tensor_rates;
}

ShardLayout LayoutOf(const RegisterRequest& request) {
  ShardLayout layout;
  layout.bucket_sizes.assign(request.bucket_sizes().begin(),
                             request.bucket_sizes().end());
  layout.total_iterations = request.total_iterations();
  layout.num_averaged_buckets = request.num_averaged_buckets();
  layout.tensor_sizes.assign(request.tensor_sizes().begin(),
                             request.tensor_sizes().end());
  layout.tensor_is_matrix.assign(request.tensor_is_matrix().begin(),
                                 request.tensor_is_matrix().end());
  layout.tensor_rates.assign(request.tensor_rates().begin(),
                             request.tensor_rates().end());
  return layout;
}

RegisterRequest RegistrationOf(const ShardLayout& layout) {
  RegisterRequest request;
  for (const int64_t size : layout.bucket_sizes) request.add_bucket_sizes(size);
  request.set_total_iterations(layout.total_iterations);
  request.set_num_averaged_buckets(
      static_cast<int>(layout.num_averaged_buckets));
  for (const int64_t size : layout.tensor_sizes) request.add_tensor_sizes(size);
  for (const bool is_matrix : layout.tensor_is_matrix) {
    request.add_tensor_is_matrix(is_matrix);
  }
  for (const double rate : layout.tensor_rates) request.add_tensor_rates(rate);
  return request;
}

std::string DescribeLayout(const ShardLayout& layout) {
  int64_t elements = 0;
  for (const int64_t size : layout.bucket_sizes) elements += size;
  std::string text = absl::StrCat(elements, " parameters in ");
  if (!layout.tensor_sizes.empty()) {
    absl::StrAppend(&text, layout.tensor_sizes.size(), " tensors and ");
  }
  absl::StrAppend(&text, layout.bucket_sizes.size(), " buckets, ",
                  layout.total_iterations, " iterations");
  if (layout.num_averaged_buckets > 0) {
    absl::StrAppend(&text, ", ", layout.num_averaged_buckets,
                    " of the buckets averaged");
  }
  return text;
}

absl::Status CheckLayout(const ShardLayout& layout) {
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
  return layout.tensor_sizes.empty() && layout.tensor_rates.empty()
             ? absl::OkStatus()
             : CheckTensors(layout);
}

TensorMap::TensorMap(const ShardLayout& layout) : rates_(layout.tensor_rates) {
  int64_t begin = 0;
  for (const int64_t size : layout.bucket_sizes) {
    bucket_begins_.push_back(begin);
    begin += size;
  }
  if (layout.tensor_sizes.empty()) {
    tensor_begins_ = bucket_begins_;
    is_matrix_.assign(bucket_begins_.size(), true);
    return;
  }
  begin = 0;
  for (const int64_t size : layout.tensor_sizes) {
    tensor_begins_.push_back(begin);
    begin += size;
  }
  is_matrix_ = layout.tensor_is_matrix;
}

std::vector<TensorStretch> TensorMap::Stretches(const Slice& slice) const {
  const int64_t begin = bucket_begins_[slice.bucket] + slice.begin;
  const int64_t end = begin + slice.size();
  std::vector<TensorStretch> stretches;
  // Finds the last tensor that begins at or before the beginning of the slice.
  auto it =
      std::upper_bound(tensor_begins_.begin(), tensor_begins_.end(), begin) - 1;
  for (int64_t from = begin; from < end; ++it) {
    const bool last = it + 1 == tensor_begins_.end();
    const int64_t to = last ? end : std::min(end, *(it + 1));
    const int tensor = static_cast<int>(it - tensor_begins_.begin());
    stretches.push_back({tensor, from - begin, to - begin, is_matrix_[tensor],
                         rates_.empty() ? 1 : rates_[tensor]});
    from = to;
  }
  return stretches;
}

}  // namespace ps
