// One mini-batch on the host, between the data sets and the models.
#ifndef COMMON_BATCH_H_
#define COMMON_BATCH_H_

#include <cstdint>
#include <vector>

namespace ps {

// What a data set's examples look like.
struct ExampleShape {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t num_classes = 0;

  int64_t num_elements() const { return channels * height * width; }
};

struct Batch {
  std::vector<float> inputs;    // [size, channels, height, width], row-major.
  std::vector<int32_t> labels;  // [size], each in [0, num_classes).

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

}  // namespace ps

#endif  // COMMON_BATCH_H_
