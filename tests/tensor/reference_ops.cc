#include "tests/tensor/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace ps {

ReferenceTensor ReferenceConvolution(const ConvolutionShape& shape,
                                     const ReferenceTensor& x,
                                     const std::vector<double>& weight,
                                     const std::vector<double>& bias) {
  const int64_t batch = x.shape[0], channels = x.shape[1];
  const int64_t group_channels = channels / shape.groups;
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
          double sum = bias.empty() ? 0 : bias[o];
          const int64_t group = o / (shape.out_channels / shape.groups);
          for (int64_t c = 0; c < group_channels; ++c) {
            for (int64_t i = 0; i < shape.kernel_height; ++i) {
              for (int64_t j = 0; j < shape.kernel_width; ++j) {
                const int64_t h = row * shape.stride + i - shape.padding;
                const int64_t w = column * shape.stride + j - shape.padding;
                if (h < 0 || h >= height || w < 0 || w >= width) continue;
                const int64_t kernel =
                    ((o * group_channels + c) * shape.kernel_height + i) *
                        shape.kernel_width +
                    j;
                const int64_t channel = group * group_channels + c;
                sum +=
                    weight[kernel] *
                    x.values[((n * channels + channel) * height + h) * width +
                             w];
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
  y.shape = {x.shape[0], x.shape[1],
             (height + 2 * shape.padding - shape.window) / shape.stride + 1,
             (width + 2 * shape.padding - shape.window) / shape.stride + 1};
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t row = 0; row < y.shape[2]; ++row) {
      for (int64_t column = 0; column < y.shape[3]; ++column) {
        double max = -std::numeric_limits<double>::infinity();
        double sum = 0;
        for (int64_t i = 0; i < shape.window; ++i) {
          for (int64_t j = 0; j < shape.window; ++j) {
            const int64_t h = row * shape.stride + i - shape.padding;
            const int64_t w = column * shape.stride + j - shape.padding;
            if (h < 0 || h >= height || w < 0 || w >= width) continue;
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

ReferenceTensor ReferenceAdaptivePooling(int64_t out_height, int64_t out_width,
                                         const ReferenceTensor& x) {
  const int64_t height = x.shape[2], width = x.shape[3];
  ReferenceTensor y;
  y.shape = {x.shape[0], x.shape[1], out_height, out_width};
  for (int64_t image = 0; image < x.shape[0] * x.shape[1]; ++image) {
    for (int64_t i = 0; i < out_height; ++i) {
      for (int64_t j = 0; j < out_width; ++j) {
        double sum = 0, count = 0;
        for (int64_t h = 0; h < height; ++h) {
          for (int64_t w = 0; w < width; ++w) {
            // Whether the pixel and the part overlap.
            if ((h + 1) * out_height <= i * height ||
                h * out_height >= (i + 1) * height ||
                (w + 1) * out_width <= j * width ||
                w * out_width >= (j + 1) * width) {
              continue;
            }
            sum += x.values[(image * height + h) * width + w];
            ++count;
          }
        }
        y.values.push_back(sum / count);
      }
    }
  }
  return y;
}

ReferenceTensor ReferenceSubsampling(const SubsamplingShape& shape,
                                     const ReferenceTensor& x) {
  const int64_t channels = x.shape[1];
  const int64_t height = x.shape[2], width = x.shape[3];
  const int64_t before = (shape.out_channels - channels) / 2;
  ReferenceTensor y;
  y.shape = {x.shape[0], shape.out_channels,
             (height + shape.stride - 1) / shape.stride,
             (width + shape.stride - 1) / shape.stride};
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    for (int64_t c = -before; c < shape.out_channels - before; ++c) {
      for (int64_t h = 0; h < height; h += shape.stride) {
        for (int64_t w = 0; w < width; w += shape.stride) {
          y.values.push_back(
              c < 0 || c >= channels
                  ? 0
                  : x.values[((n * channels + c) * height + h) * width + w]);
        }
      }
    }
  }
  return y;
}

ReferenceTensor ReferenceBatchNorm(const ReferenceBatchNormArguments& a,
                                   const ReferenceTensor& x) {
  const int64_t channels = x.shape[1];
  const int64_t pixels = NumElements(x.shape) / (x.shape[0] * channels);
  const double count = static_cast<double>(x.shape[0] * pixels);
  ReferenceTensor y = x;
  for (int64_t c = 0; c < channels; ++c) {
    const auto for_each = [&](const std::function<void(int64_t)>& body) {
      for (int64_t n = 0; n < x.shape[0]; ++n) {
        for (int64_t p = 0; p < pixels; ++p) {
          body((n * channels + c) * pixels + p);
        }
      }
    };
    double mean = 0, variance = 0;
    if (a.running_mean.empty()) {
      for_each([&](int64_t i) { mean += x.values[i] / count; });
      for_each([&](int64_t i) {
        variance += std::pow(x.values[i] - mean, 2) / count;
      });
    } else {
      mean = a.running_mean[c];
      variance = a.running_variance[c];
    }
    for_each([&](int64_t i) {
      y.values[i] =
          (x.values[i] - mean) / std::sqrt(variance + a.epsilon) * a.weight[c] +
          a.bias[c];
      if (!a.residual.empty()) y.values[i] += a.residual[i];
      if (a.relu) y.values[i] = std::max(y.values[i], 0.0);
    });
  }
  return y;
}

ReferenceTensor ReferenceRelu(const ReferenceTensor& x) {
  ReferenceTensor y = x;
  for (double& value : y.values) value = std::max(value, 0.0);
  return y;
}

ReferenceTensor ReferenceTanh(const ReferenceTensor& x) {
  ReferenceTensor y = x;
  for (double& value : y.values) value = std::tanh(value);
  return y;
}

ReferenceTensor ReferenceSigmoid(const ReferenceTensor& x) {
  ReferenceTensor y = x;
  for (double& value : y.values) value = 1 / (1 + std::exp(-value));
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
