// Images as pooling sees them: [planes, height, width, inner]. Plain images
// have a plane for each channel and inner = 1; those with their channels last
// have a plane for each image, and inner is the number of channels.
#ifndef TENSOR_CUDA_NN_IMAGE_PLANES_CUH_
#define TENSOR_CUDA_NN_IMAGE_PLANES_CUH_

#include <cstdint>

#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/tensor.h"

namespace ps {

// Indices [begin, end).
struct IndexRange {
  int64_t begin;
  int64_t end;
};

struct ImagePlanes {
  ImagePlanes(Storage storage, const Shape& images)
      : height(images[2]),
        width(images[3]),
        inner(storage == Storage::kBfloat16 ? images[1] : 1) {}

  // An element of a plane.
  struct Pixel {
    int64_t plane;
    int64_t row;
    int64_t column;
    int64_t inner;
  };

  __device__ Pixel At(int64_t i) const {
    Pixel p;
    int64_t rest = inner.Divide(i, &p.inner);
    rest = width.Divide(rest, &p.column);
    p.plane = height.Divide(rest, &p.row);
    return p;
  }
  // The position of the pixel in this row and column of p's plane, where p may
  // be a pixel of an array with other heights and widths.
  __device__ int64_t Place(const Pixel& p, int64_t row, int64_t column) const {
    const int64_t pixel =
        (p.plane * height.value() + row) * width.value() + column;
    return pixel * inner.value() + p.inner;
  }

  Divisor height;
  Divisor width;
  Divisor inner;
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_IMAGE_PLANES_CUH_
