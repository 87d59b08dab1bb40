// A dense float32 array in some backend's memory.
#ifndef TENSOR_TENSOR_H_
#define TENSOR_TENSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"

namespace ps {

using Shape = std::vector<int64_t>;

inline int64_t NumElements(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

// Returns a text for messages: "[64, 1, 28, 28]".
inline std::string ShapeString(const Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// A handle to an array; copies share the elements, which live as long as any
// handle does. Created by Backend::Allocate, or by View over memory with
// another owner. Not thread-safe: the elements have no lock.
class Tensor {
 public:
  Tensor() = default;

  Tensor(std::shared_ptr<float> data, Shape shape)
      : data_(std::move(data)),
        shape_(std::move(shape)),
        size_(NumElements(shape_)) {}

  // Returns a view. `data` is not owned and must outlive the tensor and slices.
  static Tensor View(float* data, Shape shape) {
    return Tensor(std::shared_ptr<float>(std::shared_ptr<float>(), data),
                  std::move(shape));
  }

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return size_; }

  // Returns elements [begin, end) of the flattened tensor; shares them.
  Tensor Slice(int64_t begin, int64_t end) const {
    CHECK(0 <= begin && begin <= end && end <= size_)
        << "slice [" << begin << ", " << end << ") of " << size_ << " elements";
    return Tensor(std::shared_ptr<float>(data_, data_.get() + begin),
                  {end - begin});
  }

 private:
  std::shared_ptr<float> data_;
  Shape shape_ = {0};
  int64_t size_ = 0;
};

}  // namespace ps

#endif  // TENSOR_TENSOR_H_
