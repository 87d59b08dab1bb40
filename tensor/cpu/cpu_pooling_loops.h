// Pools one image, or some of its channels, on one thread. Images are matrices
// whose rows are pixels and whose columns are channels.
#ifndef TENSOR_CPU_CPU_POOLING_LOOPS_H_
#define TENSOR_CPU_CPU_POOLING_LOOPS_H_

#include <cstdint>

namespace ps {

struct PoolingGeometry {
  int64_t height = 0;  // The height of the input, like the width.
  int64_t width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t window = 0;
  int64_t stride = 0;
  int64_t padding = 0;
  int64_t columns = 0;  // The number of channels.

  int64_t in_size() const { return height * width * columns; }
  int64_t out_size() const { return out_height * out_width * columns; }
};

// Pools maxima. maxima: like y; the input row that each maximum came from.
void MaxPool(const float* x, const PoolingGeometry& geometry, float* y,
             int32_t* maxima);
void MaxPoolBackward(const float* dy, const int32_t* maxima,
                     const PoolingGeometry& geometry, float* dx);

void AveragePool(const float* x, const PoolingGeometry& geometry, float* y);
void AveragePoolBackward(const float* dy, const PoolingGeometry& geometry,
                         float* dx);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_POOLING_LOOPS_H_
