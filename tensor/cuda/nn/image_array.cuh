// The places of elements in images as they are stored (cuda_layout.h).
#ifndef TENSOR_CUDA_NN_IMAGE_ARRAY_CUH_
#define TENSOR_CUDA_NN_IMAGE_ARRAY_CUH_

#include <cstdint>

#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/tensor.h"

namespace ps {

struct ImagePixel {
  int64_t image = 0;
  int64_t channel = 0;
  int64_t row = 0;
  int64_t column = 0;

  // Another pixel of this image and channel.
  __device__ ImagePixel At(int64_t new_row, int64_t new_column) const {
    return {image, channel, new_row, new_column};
  }
};

// Plain [images, channels, height, width], or with bfloat16 [images, height,
// width, channels].
struct ImageArray {
  ImageArray(Storage storage, const Shape& shape)
      : channels_last(storage == Storage::kBfloat16),
        channels(shape[1]),
        height(shape[2]),
        width(shape[3]) {}

  __device__ int64_t Place(const ImagePixel& p) const {
    if (channels_last) {
      return ((p.image * height.value() + p.row) * width.value() + p.column) *
                 channels.value() +
             p.channel;
    }
    return ((p.image * channels.value() + p.channel) * height.value() + p.row) *
               width.value() +
           p.column;
  }

  // The pixel at position `place` of the array.
  __device__ ImagePixel At(int64_t place) const {
    ImagePixel p;
    if (channels_last) {
      place = channels.Divide(place, &p.channel);
      place = width.Divide(place, &p.column);
      p.image = height.Divide(place, &p.row);
    } else {
      place = width.Divide(place, &p.column);
      place = height.Divide(place, &p.row);
      p.image = channels.Divide(place, &p.channel);
    }
    return p;
  }

  bool channels_last;
  Divisor channels;
  Divisor height;
  Divisor width;
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_IMAGE_ARRAY_CUH_
