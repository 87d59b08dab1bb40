// The extents of a convolution, already validated.
#ifndef TENSOR_CUDA_LAYER_DEVICE_CONVOLUTION_GEOMETRY_H_
#define TENSOR_CUDA_LAYER_DEVICE_CONVOLUTION_GEOMETRY_H_

#include <cstdint>

namespace ps {

struct ConvolutionGeometry {
  int64_t batch = 0;
  int64_t channels = 0;  // Of the input, like height and width.
  int64_t height = 0;
  int64_t width = 0;
  int64_t out_channels = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t kernel_height = 0;
  int64_t kernel_width = 0;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t groups = 1;  // Divides the channels of input and output.

  int64_t pixels() const { return height * width; }
  int64_t out_pixels() const { return out_height * out_width; }
  // Number of inputs that one output is a sum over.
  int64_t kernel_size() const {
    return channels / groups * kernel_height * kernel_width;
  }
  int64_t num_weights() const { return out_channels * kernel_size(); }
};

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_CONVOLUTION_GEOMETRY_H_
