// Describes the layout of a worker's model for a server.
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
  // The elements of every tensor, bucket by bucket, and whether it has more
  // than one dimension. If empty, each bucket is a single tensor with more than
  // one dimension.
  std::vector<int64_t> tensor_sizes;
  std::vector<bool> tensor_is_matrix;
  // The learning rate of every tensor, relative to the job's; empty: all are 1.
  std::vector<double> tensor_rates;

  bool operator==(const ShardLayout& other) const;
};

// Returns the layout with which a worker registers; not checked.
ShardLayout LayoutOf(const RegisterRequest& request);
// Returns a request with the fields of the layout, and no others.
RegisterRequest RegistrationOf(const ShardLayout& layout);

// Checks a layout from an untrusted peer. Errors: kInvalidArgument for sizes
// out of range, or tensors that do not fill the buckets exactly.
absl::Status CheckLayout(const ShardLayout& layout);

// Describes the size of the model, for error messages.
std::string DescribeLayout(const ShardLayout& layout);

// Locates the tensors of a layout that has passed CheckLayout. Immutable.
class TensorMap {
 public:
  explicit TensorMap(const ShardLayout& layout);

  int64_t num_tensors() const {
    return static_cast<int64_t>(tensor_begins_.size());
  }

  // Returns the segments of tensors that make up a slice of the layout.
  std::vector<TensorStretch> Stretches(const Slice& slice) const;

 private:
  // The positions in the concatenation of all buckets.
  std::vector<int64_t> bucket_begins_;
  std::vector<int64_t> tensor_begins_;
  std::vector<bool> is_matrix_;
  std::vector<double> rates_;  // The rates of ShardLayout.
};

}  // namespace ps

#endif  // SERVER_SHARD_LAYOUT_H_
