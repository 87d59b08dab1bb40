// Batch normalisation, compared with its definition.

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/every_backend.h"
#include "tests/tensor/finite_difference.h"
#include "tests/tensor/reference_ops.h"

namespace ps {
namespace {

using BatchNormRules = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, BatchNormRules,
                         testing::ValuesIn(BackendNames()), BackendTestName);

constexpr double kTolerance = 2e-5;

FiniteDifferenceOptions Of(const char* name) {
  FiniteDifferenceOptions options;
  options.name = name;
  // The reference works in double, so only the curvature limits the step.
  options.step = 1e-5;
  options.tolerance = 2e-4;
  options.max_elements = 60;
  return options;
}

struct BatchNormCase {
  Shape shape;
  bool plain = false;  // If false, in the layout of a convolution.
  bool relu = false;
  bool residual = false;
  bool fixed_statistics = false;
};

using BatchNorm = EveryBackendAndCase<BatchNormCase>;

TEST_P(BatchNorm, EqualsItsDefinitionForwardAndBackward) {
  const BatchNormCase& c = GetCase();
  const int64_t n = NumElements(c.shape), channels = c.shape[1];
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  const ActivationDesc input =
      c.plain ? ActivationDesc::Plain(c.shape) : ConvolutionLayout(nn, c.shape);
  BatchNormShape shape;
  shape.relu = c.relu;
  shape.fixed_statistics = c.fixed_statistics;
  const auto op = nn.PlanBatchNorm(shape, input, c.residual ? &input : nullptr);
  ASSERT_TRUE(op.ok()) << op.status();
  EXPECT_EQ((*op)->output().shape, c.shape);

  // Neither those of the examples nor the first ones.
  constexpr float kMean = 19.5f, kVariance = 2;
  // Far from zero, so that cancellation would be visible.
  std::vector<float> x = RandomValues(n, 1);
  for (float& value : x) value += 20;
  const std::vector<float> residual = RandomValues(c.residual ? n : 0, 2);
  const std::vector<float> weight = RandomValues(channels, 3);
  const std::vector<float> bias = RandomValues(channels, 4);
  const std::vector<float> dy = RandomValues(n, 5);
  const auto reference = [&](const std::vector<double>& x,
                             const std::vector<double>& weight,
                             const std::vector<double>& bias,
                             const std::vector<double>& residual) {
    ReferenceBatchNormArguments arguments;
    arguments.weight = weight;
    arguments.bias = bias;
    arguments.residual = residual;
    arguments.relu = c.relu;
    if (c.fixed_statistics) {
      arguments.running_mean.assign(channels, kMean);
      arguments.running_variance.assign(channels, kVariance);
    }
    return ReferenceBatchNorm(arguments, {c.shape, x});
  };
  const std::vector<double> x0(x.begin(), x.end());
  const std::vector<double> weight0(weight.begin(), weight.end());
  const std::vector<double> bias0(bias.begin(), bias.end());
  const std::vector<double> residual0(residual.begin(), residual.end());

  const std::vector<float> laid_out_x = ToLayout(nn, input, x);
  std::vector<float> laid_out_residual;
  if (c.residual) laid_out_residual = ToLayout(nn, input, residual);
  std::vector<float> mean(channels, kMean), variance(channels, kVariance);
  std::vector<float> y(input.num_floats);
  BatchNormOp::ForwardArguments forward;
  forward.x = laid_out_x.data();
  forward.residual = laid_out_residual.data();
  forward.weight = weight.data();
  forward.bias = bias.data();
  forward.running_mean = mean.data();
  forward.running_variance = variance.data();
  forward.y = y.data();
  ASSERT_TRUE((*op)->Forward(forward).ok());
  const ReferenceTensor expected = reference(x0, weight0, bias0, residual0);
  ExpectClose(ToPlain(nn, input, y), expected.values, kTolerance);

  // The running statistics, by PyTorch's rule.
  const double count = static_cast<double>(n / channels);
  const int64_t pixels = n / (c.shape[0] * channels);
  for (int64_t channel = 0; channel < channels; ++channel) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (i / pixels % channels == channel) sum += x[i];
    }
    for (int64_t i = 0; i < n; ++i) {
      if (i / pixels % channels == channel) {
        squares += std::pow(x[i] - sum / count, 2);
      }
    }
    if (c.fixed_statistics) {
      EXPECT_EQ(mean[channel], kMean);
      EXPECT_EQ(variance[channel], kVariance);
      continue;
    }
    EXPECT_NEAR(mean[channel], 0.9 * kMean + 0.1 * sum / count, kTolerance);
    EXPECT_NEAR(variance[channel],
                0.9 * kVariance + 0.1 * squares / (count - 1), kTolerance);
  }

  std::vector<float> laid_out_dy = ToLayout(nn, input, dy);
  constexpr float kUnwritten = 1e30f;
  std::vector<float> dx(input.num_floats, kUnwritten);
  std::vector<float> dweight(channels, kUnwritten);
  std::vector<float> dbias(channels, kUnwritten);
  BatchNormOp::BackwardArguments backward;
  backward.x = laid_out_x.data();
  backward.y = y.data();
  backward.dy = laid_out_dy.data();
  // In place if that is allowed.
  backward.dx = c.residual ? dx.data() : laid_out_dy.data();
  backward.dweight = dweight.data();
  backward.dbias = dbias.data();
  ASSERT_TRUE((*op)->Backward(backward).ok());
  ExpectGradient(
      Of("x"),
      [&](const std::vector<double>& v) {
        return Dot(dy, reference(v, weight0, bias0, residual0).values);
      },
      x, ToPlain(nn, input, c.residual ? dx : laid_out_dy));
  ExpectGradient(
      Of("weight"),
      [&](const std::vector<double>& v) {
        return Dot(dy, reference(x0, v, bias0, residual0).values);
      },
      weight, dweight);
  ExpectGradient(
      Of("bias"),
      [&](const std::vector<double>& v) {
        return Dot(dy, reference(x0, weight0, v, residual0).values);
      },
      bias, dbias);
  if (c.residual) {
    ExpectGradient(
        Of("residual"),
        [&](const std::vector<double>& v) {
          return Dot(dy, reference(x0, weight0, bias0, v).values);
        },
        residual, ToPlain(nn, input, laid_out_dy));
  }

  // Inference uses the running statistics, and does not change them.
  shape.training = false;
  const auto inference =
      nn.PlanBatchNorm(shape, input, c.residual ? &input : nullptr);
  ASSERT_TRUE(inference.ok()) << inference.status();
  const std::vector<float> mean_before = mean, variance_before = variance;
  ReferenceBatchNormArguments arguments;
  arguments.weight = weight0;
  arguments.bias = bias0;
  arguments.residual = residual0;
  arguments.relu = c.relu;
  arguments.running_mean.assign(mean.begin(), mean.end());
  arguments.running_variance.assign(variance.begin(), variance.end());
  std::vector<float> in_place = laid_out_x;
  forward.x = in_place.data();
  forward.y = in_place.data();
  ASSERT_TRUE((*inference)->Forward(forward).ok());
  ExpectClose(ToPlain(nn, input, in_place),
              ReferenceBatchNorm(arguments, {c.shape, x0}).values, kTolerance);
  EXPECT_EQ(mean, mean_before);
  EXPECT_EQ(variance, variance_before);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BatchNorm,
    testing::Combine(
        testing::ValuesIn(BackendNames()),
        testing::Values(BatchNormCase{{4, 16, 5, 6}},
                        BatchNormCase{{4, 16, 5, 6}, false, true},
                        BatchNormCase{{4, 16, 5, 6}, false, true, true},
                        BatchNormCase{{4, 16, 5, 6}, false, false, true},
                        BatchNormCase{{3, 6, 7, 5}, false, true},
                        BatchNormCase{{3, 11, 7, 5}, false, true, true},
                        BatchNormCase{{3, 5, 4, 4}, true, true},
                        BatchNormCase{{6, 8, 1, 1}, false, true},
                        BatchNormCase{{9, 13}, true, true},
                        BatchNormCase{{4, 16, 5, 6}, false, true, true, true},
                        BatchNormCase{{3, 6, 7, 5}, false, true, false, true},
                        BatchNormCase{{1, 7}, true, false, false, true},
                        BatchNormCase{{2, 1, 40, 40}, true, true},
                        // Several chunks of a channel, the last one partially
                        // filled.
                        BatchNormCase{{5, 2, 47, 39}, true, true},
                        BatchNormCase{{5, 3, 31, 33}, true, true, true})),
    [](const testing::TestParamInfo<BatchNorm::ParamType>& info) {
      const BatchNormCase& c = std::get<1>(info.param);
      return absl::StrCat(std::get<0>(info.param), "_",
                          absl::StrJoin(c.shape, "x"), c.plain ? "_plain" : "",
                          c.relu ? "_relu" : "", c.residual ? "_residual" : "",
                          c.fixed_statistics ? "_fixed_statistics" : "");
    });

TEST(BatchNormThreads, TwoThreadsGiveTheSameBits) {
  const Shape shape = {9, 16, 8, 8};
  const std::vector<float> x = RandomValues(NumElements(shape), 1);
  std::vector<std::vector<float>> results;
  for (const int num_threads : {1, 2}) {
    const std::unique_ptr<Backend> backend = CpuBackendForTest(num_threads);
    const ActivationDesc input = ConvolutionLayout(backend->nn(), shape);
    const auto op =
        backend->nn().PlanBatchNorm(BatchNormShape(), input, nullptr);
    ASSERT_TRUE(op.ok()) << op.status();
    const std::vector<float> weight(16, 1), bias(16);
    std::vector<float> mean(16), variance(16), y(x.size()), dy = x;
    std::vector<float> dweight(16), dbias(16);
    BatchNormOp::ForwardArguments forward;
    forward.x = x.data();
    forward.weight = weight.data();
    forward.bias = bias.data();
    forward.running_mean = mean.data();
    forward.running_variance = variance.data();
    forward.y = y.data();
    ASSERT_TRUE((*op)->Forward(forward).ok());
    BatchNormOp::BackwardArguments backward;
    backward.x = x.data();
    backward.dy = dy.data();
    backward.dx = dy.data();
    backward.dweight = dweight.data();
    backward.dbias = dbias.data();
    ASSERT_TRUE((*op)->Backward(backward).ok());
    for (const std::vector<float>* result : {&y, &dy, &mean, &variance}) {
      results.push_back(*result);
    }
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(results[i], results[4 + i]);
}

TEST_P(BatchNormRules, DoesNotHideANan) {
  const std::unique_ptr<Backend> backend = NewBackend();
  BatchNormShape shape;
  shape.relu = true;
  const auto op = backend->nn().PlanBatchNorm(
      shape, ActivationDesc::Plain({4, 1}), nullptr);
  ASSERT_TRUE(op.ok()) << op.status();
  const std::vector<float> x = {1, std::numeric_limits<float>::quiet_NaN(), 2,
                                3};
  const float weight = 1, bias = 0;
  float mean = 0, variance = 1;
  std::vector<float> y(4);
  BatchNormOp::ForwardArguments forward;
  forward.x = x.data();
  forward.weight = &weight;
  forward.bias = &bias;
  forward.running_mean = &mean;
  forward.running_variance = &variance;
  forward.y = y.data();
  ASSERT_TRUE((*op)->Forward(forward).ok());
  for (const float value : y) EXPECT_TRUE(std::isnan(value));
  // An iteration that is skipped must not spoil all later ones.
  EXPECT_EQ(mean, 0);
  EXPECT_EQ(variance, 1);
}

TEST_P(BatchNormRules, WhatCannotBeNormalisedIsRefused) {
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  const auto expect_refused = [](const absl::Status& status,
                                 absl::string_view part) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
  };
  const ActivationDesc one = ActivationDesc::Plain({1, 8, 1, 1});
  expect_refused(nn.PlanBatchNorm(BatchNormShape(), one, nullptr).status(),
                 "one value in each channel");
  BatchNormShape inference;
  inference.training = false;
  EXPECT_TRUE(nn.PlanBatchNorm(inference, one, nullptr).ok());
  const ActivationDesc images = ConvolutionLayout(nn, {2, 8, 3, 3});
  const ActivationDesc plain = ActivationDesc::Plain({2, 8, 3, 3});
  // Some backends have only plain layouts.
  if (images.layout != nullptr) {
    expect_refused(nn.PlanBatchNorm(BatchNormShape(), images, &plain).status(),
                   "residual");
  }
  const ActivationDesc other = ActivationDesc::Plain({2, 8, 3, 4});
  expect_refused(nn.PlanBatchNorm(BatchNormShape(), plain, &other).status(),
                 "residual");
  expect_refused(nn.PlanBatchNorm(BatchNormShape(),
                                  ActivationDesc::Plain({2, 8, 3}), nullptr)
                     .status(),
                 "[2, 8, 3]");
}

}  // namespace
}  // namespace ps
