// One-dimensional convolutions, forward and backward, for the autoencoder of
// LGC. Servers link no library of neural networks; these loops add up in a
// fixed order.
//
// A signal has `length` rows of `channels` numbers. T is float, or double in
// tests that compare with differences.
#ifndef COMPRESSORS_LGC_CONVOLUTION_H_
#define COMPRESSORS_LGC_CONVOLUTION_H_

#include <cstdint>
#include <vector>

namespace ps {

enum class ConvolutionKind {
  kPointwise,  // Kernel 1: length n stays n.
  kHalving,  // Kernel 3, stride 2, padding 1: n, which is even, becomes n / 2.
  // Transposed, kernel 3, stride 2, output padding 1: n becomes 2 n.
  kDoubling,
};

// A convolution, followed by LeakyReLU of slope 0.01 unless `linear`.
struct ConvolutionShape {
  ConvolutionKind kind = ConvolutionKind::kPointwise;
  int in = 1;   // The number of input channels.
  int out = 1;  // The number of output channels.
  bool linear = false;

  int64_t kernel() const { return kind == ConvolutionKind::kPointwise ? 1 : 3; }
  // The weights precede one bias for each output channel. They are a matrix of
  // `in` rows and `out` columns for each place w of the kernel. kHalving has
  // y[j] = sum of w x[2 j + w - 1], with places 0, 1, 2. kDoubling has places
  // 1, 2, 0: y[2 j] = 1 x[j], and y[2 j + 1] = 2 x[j] + 0 x[j + 1]. A row
  // beyond an end is 0.
  int64_t num_weights() const { return kernel() * in * out; }
  int64_t num_parameters() const { return num_weights() + out; }
  int64_t OutputLength(int64_t length) const;
  // The bound of the uniform distribution of initial weights: 1 / sqrt(fan).
  double InitialBound() const;
};

// Runs the layer. x: [length, in]. Replaces *y by [OutputLength(length), out].
template <typename T>
void Forward(const ConvolutionShape& shape, const T* parameters,
             const std::vector<T>& x, std::vector<T>* y);

// Backpropagates. x and y are those of Forward. *dy, the gradient of y, is
// overwritten. Adds to the gradient of the parameters, and replaces *dx, unless
// it is null.
template <typename T>
void Backward(const ConvolutionShape& shape, const T* parameters,
              const std::vector<T>& x, const std::vector<T>& y,
              std::vector<T>* dy, T* d_parameters, std::vector<T>* dx);

}  // namespace ps

#endif  // COMPRESSORS_LGC_CONVOLUTION_H_
