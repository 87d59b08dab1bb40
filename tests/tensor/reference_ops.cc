#include "tests/tensor/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ps {

ReferenceTensor ReferenceConvolution(const ConvolutionShape& shape,
                                     const ReferenceTensor& x,
                                     const std::vector<double>& weight,
                                     const std::vector<double>& bias) {
  const int64_t batch = x.shape[0], channels = x.shape[1];
  const int64_t height = x.shape[2], width = x.shape[3];
  const int64_t out_height =
      (height + 2 * shape.padding - shape.kernel_height) / shape.stride + 1;
  const int64_t out_width =
      (width + 2 * shape.padding - shape.kernel_width) / shape.stride + 1;
  ReferenceTensor y;
  y.shape = {batch, shape.out_channels, out_height, out_width};
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t o = 0; o < shape.out_channels; ++o) {
      for (int64_t row = 0; row < out_height; ++row) {
        for (int64_t column = 0; column < out_width; ++column) {
          double sum = bias[o];
          for (int64_t c = 0; c < channels; ++c) {
            for (int64_t i = 0; i < shape.kernel_height; ++i) {
              for (int64_t j = 0; j < shape.kernel_width; ++j) {
                const int64_t h = row * shape.stride + i - shape.padding;
                const int64_t w = column * shape.stride + j - shape.padding;
                if (h < 0 || h >= height || w < 0 || w >= width) continue;
                const int64_t kernel =
                    ((o * channels + c) * shape.kernel_height + i) *
                        shape.kernel_width +
                    j;
                sum += weight[kernel] *
                       x.values[((n * channels + c) * height + h) * width + w];
              }
            }
          }
          y.values.push_back(sum);
        }
      }
    }
  }
  return y;
}

ReferenceTensor ReferenceLinear(const ReferenceTensor& x,
                                const std::vector<double>& weight,
                                const std::vector<double>& bias) {
  const int64_t batch = x.shape[0];
  const int64_t in = NumElements(x.shape) / batch;
  const int64_t out = static_cast<int64_t>(bias.size());
  ReferenceTensor y;
  y.shape = {batch, out};
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t o = 0; o < out; ++o) {
      double sum = bias[o];
      for (int64_t i = 0; i < in; ++i) {
        sum += weight[o * in + i] * x.values[n * in + i];
      }
      y.values.push_back(sum);
    }
  }
  return y;
}

ReferenceTensor ReferencePooling(const PoolingShape& shape,
                                 const ReferenceTensor& x) {
  const int64_t height = x.shape[2], width = x.shape[3];
  const int64_t images = x.shape[0] * x.shape[1];
  ReferenceTensor y;
  y.shape = {x.shape[0], x.shape[1], (height - shape.window) / shape.stride + 1,
             (width - shape.window) / shape.stride + 1};
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t row = 0; row < y.shape[2]; ++row) {
      for (int64_t column = 0; column < y.shape[3]; ++column) {
        double max = -std::numeric_limits<double>::infinity();
        double sum = 0;
        for (int64_t i = 0; i < shape.window; ++i) {
          for (int64_t j = 0; j < shape.window; ++j) {
            const int64_t h = row * shape.stride + i;
            const int64_t w = column * shape.stride + j;
            const double value = x.values[(image * height + h) * width + w];
            max = std::max(max, value);
            sum += value;
          }
        }
        const double area = static_cast<double>(shape.window * shape.window);
        y.values.push_back(shape.kind == PoolingShape::Kind::kMax ? max
                                                                  : sum / area);
      }
    }
  }
  return y;
}

ReferenceTensor ReferenceRelu(const ReferenceTensor& x) {
  ReferenceTensor y = x;
  for (double& value : y.values) value = std::max(value, 0.0);
  return y;
}

double ReferenceCrossEntropy(const ReferenceTensor& logits,
                             const std::vector<int32_t>& labels) {
  const int64_t batch = logits.shape[0], classes = logits.shape[1];
  double loss = 0;
  for (int64_t n = 0; n < batch; ++n) {
    const double label = logits.values[n * classes + labels[n]];
    double odds = 0;  // Against the label.
    for (int64_t c = 0; c < classes; ++c) {
      odds += std::exp(logits.values[n * classes + c] - label);
    }
    loss += std::log(odds);
  }
  return loss / static_cast<double>(batch);
}

}  // namespace ps
