// Provides temporary memory for one call at a time, shared by everything
// planned on a backend. Without sharing, copies of weights in the layouts that
// primitives prefer would take several times the model's size.
#ifndef TENSOR_CPU_SHARED_SCRATCH_H_
#define TENSOR_CPU_SHARED_SCRATCH_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"

namespace ps {

// The scratch memory. Not thread-safe, like the backend that owns it.
class SharedScratch {
 public:
  // Ensures, when planning, that there are at least `num_floats` from now on.
  // Errors: kResourceExhausted.
  absl::Status Reserve(int64_t num_floats);

  // Returns the memory, when running: uninitialised, aligned to 64 bytes, and
  // overwritten by the next call of any operation. The address may change with
  // each Reserve.
  float* data() const { return data_.get(); }

 private:
  std::shared_ptr<float> data_;
  int64_t num_floats_ = 0;
};

}  // namespace ps

#endif  // TENSOR_CPU_SHARED_SCRATCH_H_
