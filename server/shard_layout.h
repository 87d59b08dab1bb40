// What a worker's model looks like to a server.
#ifndef SERVER_SHARD_LAYOUT_H_
#define SERVER_SHARD_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/optimizers/optimizer.h"
#include "transport/shard_map.h"

namespace ps {

struct ShardLayout {
  std::vector<int64_t> bucket_sizes;
  int64_t total_iterations = 0;
  // So many of the last buckets hold statistics.
  int64_t num_averaged_buckets = 0;
  // Elements of every tensor, bucket by bucket, and whether it has more than
  // one extent. Empty: each bucket is a tensor that has.
  std::vector<int64_t> tensor_sizes;
  std::vector<bool> tensor_is_matrix;

  bool operator==(const ShardLayout& other) const;
};

// Trusts nothing. Errors: kInvalidArgument for sizes out of range, or tensors
// that do not fill the buckets.
absl::Status CheckLayout(const ShardLayout& layout);

// For error messages: how large the model is.
std::string DescribeLayout(const ShardLayout& layout);

// Where the tensors of a layout that has passed CheckLayout lie. Immutable.
class TensorMap {
 public:
  explicit TensorMap(const ShardLayout& layout);

  int64_t num_tensors() const {
    return static_cast<int64_t>(tensor_begins_.size());
  }

  // The parts of tensors that make up a slice of the layout.
  std::vector<TensorStretch> Stretches(const Slice& slice) const;

 private:
  // Positions in all buckets, one after the other.
  std::vector<int64_t> bucket_begins_;
  std::vector<int64_t> tensor_begins_;
  std::vector<bool> is_matrix_;
};

}  // namespace ps

#endif  // SERVER_SHARD_LAYOUT_H_
