// The layout of a worker's model, as a server needs it.
#ifndef SERVER_SHARD_LAYOUT_H_
#define SERVER_SHARD_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "optimizers/optimizer.h"
#include "proto/parameter_server.pb.h"
#include "transport/shard_map.h"

namespace ps {

struct ShardLayout {
  std::vector<int64_t> bucket_sizes;
  int64_t total_iterations = 0;
  // The number of last buckets that hold statistics.
  int64_t num_averaged_buckets = 0;
  // Elements of every tensor, bucket by bucket, and whether it has more than
  // one extent. Empty: each bucket is a single tensor with more than one
  // extent.
  std::vector<int64_t> tensor_sizes;
  std::vector<bool> tensor_is_matrix;
  // The learning rate of every tensor, relative to the job's. Empty: all are 1.
  std::vector<double> tensor_rates;

  bool operator==(const ShardLayout& other) const;
};

// What a worker registers with; not checked.
ShardLayout LayoutOf(const RegisterRequest& request);
// The same fields, and no others.
RegisterRequest RegistrationOf(const ShardLayout& layout);

// Checks a layout from an untrusted peer. Errors: kInvalidArgument for sizes
// out of range, or tensors that do not fill the buckets exactly.
absl::Status CheckLayout(const ShardLayout& layout);

// The size of the model, for error messages.
std::string DescribeLayout(const ShardLayout& layout);

// The positions of the tensors of a layout that has passed CheckLayout.
// Immutable.
class TensorMap {
 public:
  explicit TensorMap(const ShardLayout& layout);

  int64_t num_tensors() const {
    return static_cast<int64_t>(tensor_begins_.size());
  }

  // The parts of tensors that make up a slice of the layout.
  std::vector<TensorStretch> Stretches(const Slice& slice) const;

 private:
  // Positions in the concatenation of all buckets.
  std::vector<int64_t> bucket_begins_;
  std::vector<int64_t> tensor_begins_;
  std::vector<bool> is_matrix_;
  std::vector<double> rates_;  // As in ShardLayout.
};

}  // namespace ps

#endif  // SERVER_SHARD_LAYOUT_H_
