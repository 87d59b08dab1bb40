// The memory that a training process and its bridge share: tensors as a table,
// and two arrays of floats.
//
//   offset                  what
//   0                       "GSBRIDGE", u32 protocol, u32 number of tensors,
//                           u64 bytes of the table, u64 n; zeros
//   4096                    the table: for each tensor u32 bytes of its name,
//                           u32 number of extents, i64 extents, the name
//   then, aligned to 64     i32 for each tensor: its bucket, which OPEN writes
//   then, aligned to 64     f32 in[n]: from the training process
//   then, aligned to 64     f32 out[n]: to the training process
//
// Everything is little-endian. n is the number of elements of all tensors,
// which lie one after the other in both arrays. The block is a memfd that is
// sealed against shrinking, so that no access can fail.
#ifndef BRIDGE_SHARED_BLOCK_H_
#define BRIDGE_SHARED_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "tensor/parameter_info.h"

namespace ps {

constexpr char kBridgeMagic[] = "GSBRIDGE";  // Without the zero at its end.

// Not thread-safe. What is in the arrays, the other process may change at any
// time.
class SharedBlock {
 public:
  // Maps the block and reads its table, once. Errors: kInvalidArgument for a
  // descriptor or contents that are not as above; kResourceExhausted.
  static absl::StatusOr<std::unique_ptr<SharedBlock>> Map(UniqueFd memfd);

  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  // At least one; none is empty, and no name either.
  const std::vector<ParameterInfo>& tensors() const { return tensors_; }
  int64_t num_elements() const { return num_elements_; }

  float* in() const { return in_; }    // [num_elements]
  float* out() const { return out_; }  // [num_elements]

  void SetBucket(size_t tensor, int bucket) { buckets_[tensor] = bucket; }

 private:
  SharedBlock(void* begin, size_t bytes) : begin_(begin), bytes_(bytes) {}

  // Reads the table, and finds the arrays.
  absl::Status Read();

  void* const begin_;
  const size_t bytes_;
  std::vector<ParameterInfo> tensors_;
  int64_t num_elements_ = 0;
  int32_t* buckets_ = nullptr;  // [tensor]
  float* in_ = nullptr;
  float* out_ = nullptr;
};

}  // namespace ps

#endif  // BRIDGE_SHARED_BLOCK_H_
