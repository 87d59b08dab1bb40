// The layers of LGC's autoencoder against their definitions and differences.
#include "compressors/lgc/convolution.h"

#include <cmath>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

constexpr auto kPointwise = ConvolutionKind::kPointwise;
constexpr auto kHalving = ConvolutionKind::kHalving;
constexpr auto kDoubling = ConvolutionKind::kDoubling;

std::vector<double> Draws(uint64_t key, int64_t n) {
  RandomStream stream(key);
  std::vector<double> draws;
  for (int64_t i = 0; i < n; ++i) draws.push_back(stream.Uniform(-1, 1));
  return draws;
}

double Activation(const ConvolutionShape& shape, double x) {
  return shape.linear || x > 0 ? x : 0.01 * x;
}

// PyTorch's definitions, with the kernel's places in their usual order. `w`
// counts from 0; a transposed convolution adds weight w of x[j] to y[2 j + w -
// 1].
std::vector<double> Defined(const ConvolutionShape& shape,
                            const std::vector<double>& parameters,
                            const std::vector<double>& x) {
  const int64_t length = static_cast<int64_t>(x.size()) / shape.in;
  const int64_t outputs = shape.OutputLength(length);
  std::vector<double> y(outputs * shape.out, 0.0);
  const std::vector<int> stored = shape.kind == kDoubling
                                      ? std::vector<int>{2, 0, 1}
                                      : std::vector<int>{0, 1, 2};
  for (int64_t j = 0; j < length; ++j) {
    for (int w = 0; w < shape.kernel(); ++w) {
      // The output that x[j] is added to with weight w.
      int64_t to = j;
      if (shape.kind == kDoubling) to = 2 * j + w - 1;
      if (shape.kind == kHalving) {
        if ((j - w + 1) % 2 != 0) continue;
        to = (j - w + 1) / 2;
      }
      if (to < 0 || to >= outputs ||
          (shape.kind == kHalving && j - w + 1 < 0)) {
        continue;
      }
      for (int i = 0; i < shape.in; ++i) {
        for (int o = 0; o < shape.out; ++o) {
          y[to * shape.out + o] +=
              x[j * shape.in + i] *
              parameters[(stored[w] * shape.in + i) * shape.out + o];
        }
      }
    }
  }
  for (size_t i = 0; i < y.size(); ++i) {
    const double bias = parameters[shape.num_weights() + i % shape.out];
    y[i] = Activation(shape, y[i] + bias);
  }
  return y;
}

std::vector<ConvolutionShape> Shapes() {
  return {{kPointwise, 5, 3, true}, {kPointwise, 3, 4, false},
          {kHalving, 1, 7, false},  {kHalving, 6, 5, true},
          {kDoubling, 4, 3, false}, {kDoubling, 5, 6, true}};
}

TEST(Convolution, EqualsItsDefinition) {
  for (const ConvolutionShape& shape : Shapes()) {
    for (const int64_t length : {2, 4, 16, 32, 42, 336, 4096}) {
      const std::vector<double> x = Draws(1, length * shape.in);
      const std::vector<double> parameters = Draws(2, shape.num_parameters());
      std::vector<double> y;
      Forward(shape, parameters.data(), x, &y);
      const std::vector<double> expected = Defined(shape, parameters, x);
      ASSERT_EQ(y.size(), expected.size());
      for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_NEAR(y[i], expected[i], 1e-12) << i;
      }
    }
  }
}

// 1 / sqrt(fan), as PyTorch's default: 3 x in, and 3 x out for a transposed
// one.
TEST(Convolution, BeginsWithWeightsOfTheRightSize) {
  EXPECT_DOUBLE_EQ((ConvolutionShape{kHalving, 64, 128}.InitialBound()),
                   1 / std::sqrt(192));
  EXPECT_DOUBLE_EQ((ConvolutionShape{kDoubling, 4, 32}.InitialBound()),
                   1 / std::sqrt(96));
  EXPECT_DOUBLE_EQ((ConvolutionShape{kPointwise, 33, 1}.InitialBound()),
                   1 / std::sqrt(33));
}

TEST(Convolution, HasTheGradientOfDifferences) {
  for (const ConvolutionShape& shape : Shapes()) {
    std::vector<double> x = Draws(3, 8 * shape.in);
    std::vector<double> parameters = Draws(4, shape.num_parameters());
    std::vector<double> y;
    Forward(shape, parameters.data(), x, &y);
    // The loss is the sum of all outputs, each with a factor.
    const std::vector<double> factors = Draws(5, y.size());
    const auto loss = [&] {
      std::vector<double> out;
      Forward(shape, parameters.data(), x, &out);
      double sum = 0;
      for (size_t i = 0; i < out.size(); ++i) sum += factors[i] * out[i];
      return sum;
    };
    std::vector<double> dy = factors;
    std::vector<double> d_parameters(parameters.size(), 0.0);
    std::vector<double> dx;
    Backward(shape, parameters.data(), x, y, &dy, d_parameters.data(), &dx);
    const auto check = [&loss](std::vector<double>* at,
                               const std::vector<double>& gradient) {
      ASSERT_EQ(at->size(), gradient.size());
      for (size_t i = 0; i < at->size(); ++i) {
        constexpr double kStep = 1e-6;
        const double before = (*at)[i];
        (*at)[i] = before + kStep;
        const double above = loss();
        (*at)[i] = before - kStep;
        const double below = loss();
        (*at)[i] = before;
        EXPECT_NEAR((above - below) / (2 * kStep), gradient[i], 1e-6) << i;
      }
    };
    check(&parameters, d_parameters);
    check(&x, dx);
  }
}

TEST(Convolution, AddsUpInAnOrderThatDoesNotDependOnTheLength) {
  // The first outputs of a longer signal are those of a shorter one.
  const ConvolutionShape shape = {kHalving, 64, 32, false};
  std::vector<float> parameters;
  std::vector<float> x;
  for (const double draw : Draws(6, shape.num_parameters())) {
    parameters.push_back(static_cast<float>(draw));
  }
  for (const double draw : Draws(7, 64 * 64)) {
    x.push_back(static_cast<float>(draw));
  }
  std::vector<float> whole;
  Forward(shape, parameters.data(), x, &whole);
  std::vector<float> part;
  Forward(shape, parameters.data(), {x.begin(), x.begin() + 16 * 64}, &part);
  for (size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], whole[i]);
}

}  // namespace
}  // namespace ps
