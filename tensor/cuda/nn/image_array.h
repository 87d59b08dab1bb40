// The positions of the pixels of images in memory.
#ifndef TENSOR_CUDA_NN_IMAGE_ARRAY_H_
#define TENSOR_CUDA_NN_IMAGE_ARRAY_H_

#include <cstdint>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

struct ImagePixel {
  int64_t image = 0;
  int64_t channel = 0;
  int64_t row = 0;
  int64_t column = 0;
};

// Plain [images, channels, height, width], or [images, height, width,
// channels].
struct ImageArray {
  bool channels_last = false;
  Divisor channels;
  Divisor height;
  Divisor width;

  PS_HOST_DEVICE int64_t Place(const ImagePixel& p) const {
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
  PS_HOST_DEVICE ImagePixel At(int64_t place) const {
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
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_IMAGE_ARRAY_H_
