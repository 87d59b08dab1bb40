// LGC's autoencoder: its size, its gradient, and that it learns.
#include "compressors/lgc/autoencoder.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/random.h"
#include "compressors/lgc/adam.h"
#include "compressors/lgc/convolution.h"
#include "compressors/lgc/values.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

std::vector<float> Parameters(int num_workers) {
  std::vector<float> parameters = InitialEncoder(1);
  for (int rank = 0; rank < num_workers; ++rank) {
    const std::vector<float> decoder = InitialDecoder(1, rank);
    parameters.insert(parameters.end(), decoder.begin(), decoder.end());
  }
  return parameters;
}

// Normal values. Those of worker k are rho x common + the rest of its own.
TrainingExample<float> Example(int num_workers, int length, double common,
                               double innovation, bool by_sign, uint64_t key) {
  TrainingExample<float> example;
  RandomStream shared(RandomKey(key, uint64_t{99}));
  std::vector<double> same(length);
  for (double& value : same) value = shared.Normal();
  std::vector<uint32_t> order;
  for (int k = 0; k < num_workers; ++k) {
    RandomStream own(RandomKey(key, static_cast<uint64_t>(k)));
    std::vector<float> values(length);
    for (int i = 0; i < length; ++i) {
      values[i] = static_cast<float>(
          common * same[i] + std::sqrt(1 - common * common) * own.Normal());
    }
    const std::vector<ValueRange> ranges = {{0, static_cast<uint32_t>(length)}};
    if (k == 0) {
      order = OrderOf(ranges,
                      by_sign ? Signs(ranges, values) : std::vector<bool>());
    }
    const std::vector<float> x = Ordered(order, values, 1);
    example.values.push_back(x);
    example.innovations.push_back(AtPlaces(x, LargestPlaces(x, innovation)));
  }
  return example;
}

// Until the error is below `enough`, but no more updates than that.
ReconstructionError Train(const TrainingExample<float>& example, int updates,
                          double enough, std::vector<float>* parameters) {
  Adam adam(0.001, parameters->size());
  std::vector<float> gradient;
  ReconstructionError error;
  for (int i = 0; i < updates; ++i) {
    AutoencoderLoss<float>(*parameters, example, &gradient, &error);
    if (error.error < enough) break;
    adam.Step(gradient, parameters);
  }
  AutoencoderLoss<float>(*parameters, example, nullptr, &error);
  return error;
}

// Check 2 of the specification, and output lengths of check 1.
TEST(Autoencoder, HasTheSizeOfThePaper) {
  EXPECT_EQ(NumEncoderParameters(), 172996);
  EXPECT_EQ(NumDecoderParameters(), 43682);
  const std::vector<float> parameters = Parameters(1);
  for (const int length : {16, 17, 32, 336, 4096}) {
    const std::vector<float> x(length, 1.0f);
    const std::vector<float> code = Encode<float>(parameters.data(), x);
    EXPECT_EQ(static_cast<int64_t>(code.size()), (length + 15) / 16 * 4);
    EXPECT_EQ(CodeLength(length), static_cast<int64_t>(code.size()));
    EXPECT_EQ(Decode<float>(parameters.data() + NumEncoderParameters(), code, x)
                  .size(),
              x.size());
  }
}

// The specification's tables, with the layers of convolution_test. The encoder
// ends with an activation, the decoder does not; the innovation is the last
// channel of what the decoder's last layer sees.
TEST(Autoencoder, IsMadeOfTheLayersOfTheSpecification) {
  constexpr auto kPointwise = ConvolutionKind::kPointwise;
  constexpr auto kHalving = ConvolutionKind::kHalving;
  constexpr auto kDoubling = ConvolutionKind::kDoubling;
  const std::vector<float> parameters = Parameters(1);
  const auto run = [](const std::vector<ConvolutionShape>& layers,
                      const float* at, std::vector<float> x) {
    for (const ConvolutionShape& layer : layers) {
      std::vector<float> y;
      Forward(layer, at, x, &y);
      at += layer.num_parameters();
      x = std::move(y);
    }
    return x;
  };
  const TrainingExample<float> example = Example(1, 45, 0, 0.2, false, 2);
  std::vector<float> x = example.values[0];
  x.resize(48, 0.0f);
  const std::vector<float> code = run({{kHalving, 1, 64, false},
                                       {kHalving, 64, 128, false},
                                       {kHalving, 128, 256, false},
                                       {kHalving, 256, 64, false},
                                       {kPointwise, 64, 4, false}},
                                      parameters.data(), x);
  EXPECT_EQ(Encode<float>(parameters.data(), example.values[0]), code);
  const std::vector<ConvolutionShape> layers = {{kDoubling, 4, 32, false},
                                                {kDoubling, 32, 64, false},
                                                {kDoubling, 64, 128, false},
                                                {kDoubling, 128, 32, false}};
  const float* decoder = parameters.data() + NumEncoderParameters();
  const std::vector<float> common = run(layers, decoder, code);
  ASSERT_EQ(common.size(), 48u * 32);
  std::vector<float> joined;
  for (size_t i = 0; i < 48; ++i) {
    joined.insert(joined.end(), common.begin() + i * 32,
                  common.begin() + (i + 1) * 32);
    joined.push_back(i < 45 ? example.innovations[0][i] : 0.0f);
  }
  for (const ConvolutionShape& layer : layers) {
    decoder += layer.num_parameters();
  }
  std::vector<float> expected =
      run({{kPointwise, 33, 1, true}}, decoder, joined);
  expected.resize(45);
  EXPECT_EQ(Decode<float>(parameters.data() + NumEncoderParameters(), code,
                          example.innovations[0]),
            expected);
}

// Check 1, for the whole: in fp64, a sample of all parameters.
TEST(Autoencoder, HasTheGradientOfDifferences) {
  for (const int length : {16, 32, 45, 336, 4096}) {
    const TrainingExample<float> single = Example(2, length, 0.5, 0.1, true, 7);
    TrainingExample<double> example;
    example.leader = 1;
    for (int k = 0; k < 2; ++k) {
      example.values.emplace_back(single.values[k].begin(),
                                  single.values[k].end());
      example.innovations.emplace_back(single.innovations[k].begin(),
                                       single.innovations[k].end());
    }
    const std::vector<float> initial = Parameters(2);
    std::vector<double> parameters(initial.begin(), initial.end());
    std::vector<double> gradient;
    ReconstructionError error;
    AutoencoderLoss<double>(parameters, example, &gradient, &error);
    RandomStream stream(length);
    double largest = 0;
    for (const double g : gradient) largest = std::max(largest, std::fabs(g));
    const int samples = length < 100 ? 300 : length < 1000 ? 30 : 6;
    for (int i = 0; i < samples; ++i) {
      const size_t p = stream.Below(parameters.size());
      constexpr double kStep = 1e-6;
      const double before = parameters[p];
      parameters[p] = before + kStep;
      const double above =
          AutoencoderLoss<double>(parameters, example, nullptr, &error);
      parameters[p] = before - kStep;
      const double below =
          AutoencoderLoss<double>(parameters, example, nullptr, &error);
      parameters[p] = before;
      EXPECT_NEAR((above - below) / (2 * kStep), gradient[p], 1e-5 * largest)
          << p;
    }
  }
}

TEST(Autoencoder, LosesTheMeanSquareAndTheDistanceOfCodes) {
  TrainingExample<float> example = Example(3, 48, 0.3, 0.1, true, 3);
  example.leader = 1;
  const std::vector<float> parameters = Parameters(3);
  ReconstructionError error;
  const double loss =
      AutoencoderLoss<float>(parameters, example, nullptr, &error);
  double expected = 0, left = 0, total = 0, left_of_innovation = 0;
  std::vector<std::vector<float>> codes;
  for (const std::vector<float>& x : example.values) {
    codes.push_back(Encode<float>(parameters.data(), x));
  }
  for (int k = 0; k < 3; ++k) {
    const std::vector<float> decoded = Decode<float>(
        parameters.data() + NumEncoderParameters() + k * NumDecoderParameters(),
        codes[1], example.innovations[k]);
    for (int i = 0; i < 48; ++i) {
      const double x = example.values[k][i];
      expected += 0.5 * std::pow(decoded[i] - x, 2) / 48;
      left += std::pow(decoded[i] - x, 2);
      left_of_innovation += std::pow(example.innovations[k][i] - x, 2);
      total += x * x;
    }
    for (int m = 0; m < 3; ++m) {
      for (int i = 0; i < 12; ++i) {
        expected += 0.5 * std::pow(codes[k][i] - codes[m][i], 2) / 12;
      }
    }
  }
  EXPECT_NEAR(loss, expected, 1e-5 * expected);
  EXPECT_NEAR(error.error, left / total, 1e-5);
  EXPECT_NEAR(error.innovation, left_of_innovation / total, 1e-5);
  double left_of_signs = 0;
  for (const std::vector<float>& x : example.values) {
    for (const bool positive : {true, false}) {
      std::vector<double> side;
      for (int i = 0; i < 48; ++i) {
        if ((example.values[1][i] >= 0) == positive) side.push_back(x[i]);
      }
      const double mean =
          std::accumulate(side.begin(), side.end(), 0.0) / side.size();
      for (const double value : side)
        left_of_signs += std::pow(value - mean, 2);
    }
  }
  EXPECT_NEAR(error.signs, left_of_signs / total, 1e-5);
}

// Check 4: it overfits, also on values that have nothing in common.
TEST(Autoencoder, OverfitsOneExample) {
  for (const double common : {0.0, 0.8}) {
    std::vector<float> parameters = Parameters(2);
    const TrainingExample<float> example =
        Example(2, 112, common, 0.01, true, 5);
    const ReconstructionError error = Train(example, 2000, 0.03, &parameters);
    std::cout << "in common " << common << ": error " << error.error << '\n';
    EXPECT_LT(error.error, 0.05);
    for (int k = 0; k < 2; ++k) {
      const std::vector<float>& x = example.values[k];
      const std::vector<float> decoded =
          Decode<float>(parameters.data() + NumEncoderParameters() +
                            k * NumDecoderParameters(),
                        Encode<float>(parameters.data(), example.values[0]),
                        example.innovations[k]);
      double left = 0, total = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        left += std::pow(decoded[i] - x[i], 2);
        total += x[i] * x[i];
      }
      EXPECT_LT(left / total, 0.05) << k;
    }
  }
}

// Check 5, and the specification's reason for normalising, for Adam and for the
// order: new values in every iteration.
ReconstructionError ErrorOnNewValues(bool by_sign, float scale) {
  std::vector<float> parameters = Parameters(2);
  Adam adam(0.001, parameters.size());
  std::vector<float> gradient;
  ReconstructionError mean;
  constexpr int kIterations = 200;
  for (int i = 0; i < kIterations; ++i) {
    TrainingExample<float> example =
        Example(2, 320, 0.6, 0.01, by_sign, 1000 + i);
    for (auto* const vectors : {&example.values, &example.innovations}) {
      for (std::vector<float>& vector : *vectors) {
        for (float& value : vector) value *= scale;
      }
    }
    ReconstructionError error;
    AutoencoderLoss<float>(parameters, example, &gradient, &error);
    adam.Step(gradient, &parameters);
    if (i < kIterations - 20) continue;
    mean.error += error.error / 20;
    mean.signs += error.signs / 20;
  }
  return mean;
}

TEST(Autoencoder, LearnsFromValuesThatAreOrderedBySign) {
  const auto [by_sign, innovation, signs] = ErrorOnNewValues(true, 1);
  const double by_index = ErrorOnNewValues(false, 1).error;
  const double raw = ErrorOnNewValues(true, 0.001f).error;
  std::cout << "error by sign " << by_sign << ", by index " << by_index
            << ", not normalised " << raw << "; of the signs alone " << signs
            << '\n';
  EXPECT_LT(by_sign, 0.75);
  EXPECT_GT(by_index, by_sign + 0.1);
  EXPECT_GT(raw, by_sign + 0.1);
}

TEST(Adam, MakesTheFirstStepOfTheLearningRate) {
  Adam adam(0.01, 2);
  std::vector<float> x = {1, 2};
  adam.Step({0.5f, -3.0f}, &x);
  EXPECT_NEAR(x[0], 0.99, 1e-6);
  EXPECT_NEAR(x[1], 2.01, 1e-6);
  // The second, by the definition.
  adam.Step({0.5f, 0.0f}, &x);
  const double m = 0.9 * 0.1 * -3.0 / (1 - 0.81);
  const double v = 0.999 * 0.001 * 9.0 / (1 - 0.999 * 0.999);
  EXPECT_NEAR(x[0], 0.98, 1e-6);
  EXPECT_NEAR(x[1], 2.01 - 0.01 * m / (std::sqrt(v) + 1e-8), 1e-6);
}

}  // namespace
}  // namespace ps
