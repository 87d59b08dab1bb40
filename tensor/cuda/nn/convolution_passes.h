// A convolution without its bias.
#ifndef TENSOR_CUDA_NN_CONVOLUTION_PASSES_H_
#define TENSOR_CUDA_NN_CONVOLUTION_PASSES_H_

#include <cstdint>

#include "absl/status/status.h"

namespace ps {

// Its extents, already validated.
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
  int64_t kernel_pixels() const { return kernel_height * kernel_width; }
  int64_t group_channels() const { return channels / groups; }
  // Number of inputs that one output is a sum over.
  int64_t kernel_size() const { return group_channels() * kernel_pixels(); }
  int64_t num_weights() const { return out_channels * kernel_size(); }
};

enum class ConvolutionPass { kForward, kBackwardData, kBackwardWeights };

// Pointers are to arrays on the device, in its storage(): plain floats; or
// bfloat16, with images as [batch, height, width, channels] and weights as [out
// channels, kernel height, kernel width, channels of a group]. The weights'
// gradient is always floats in PyTorch's layout. Each method overwrites its
// result, and uses the device's scratch.
class ConvolutionPasses {
 public:
  virtual ~ConvolutionPasses() = default;
  // Whether this pass is supported; only then may it be called.
  virtual bool Computes(ConvolutionPass) const { return true; }
  virtual absl::Status Forward(const void* x, const void* weight, void* y) = 0;
  virtual absl::Status BackwardData(const void* weight, const void* dy,
                                    void* dx) = 0;
  virtual absl::Status BackwardWeights(const void* x, const void* dy,
                                       float* dweight) = 0;
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CONVOLUTION_PASSES_H_
