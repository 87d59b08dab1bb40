// How convolutions are passed to cuDNN, using a fake one.

#include "tensor/cuda/nn/cudnn_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/precision.h"
#include "tests/common/log_messages.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/cuda/emulated_libraries.h"
#include "tests/tensor/cuda/layers/fake_cudnn.h"
#include "tests/tensor/cuda/layers/layer_device_for_test.h"

namespace ps {
namespace {

std::shared_ptr<LayerDevice> NewDevice(Precision precision = Precision::kFp32,
                                       bool deterministic = true) {
  CudaNnOptions options;
  options.precision = precision;
  options.deterministic = deterministic;
  return NewLayerDeviceForTest(options);
}

// Computes all passes by products.
std::shared_ptr<LayerDevice> NewProducts(
    Precision precision = Precision::kFp32) {
  CudaNnOptions options;
  options.precision = precision;
  options.use_cudnn = false;
  return NewLayerDeviceForTest(options);
}

ConvolutionShape Shape3x2(int64_t out_channels, int64_t stride, int64_t padding,
                          int64_t groups) {
  ConvolutionShape shape;
  shape.out_channels = out_channels;
  shape.kernel_height = 3;
  shape.kernel_width = 2;
  shape.stride = stride;
  shape.padding = padding;
  shape.groups = groups;
  return shape;
}

struct Convolved {
  std::vector<float> y;
  std::vector<float> dx;
  std::vector<float> dweight;
  std::vector<float> dbias;
};

// Runs one iteration. before_run: called after planning.
Convolved RunConvolution(
    const std::shared_ptr<LayerDevice>& device, const ConvolutionShape& shape,
    const Shape& input, absl::Status* status,
    const std::function<void()>& before_run = [] {}) {
  CudaNnKernels nn(device);
  const ActivationDesc plain = ActivationDesc::Plain(input);
  const auto op = nn.PlanConvolution(shape, plain);
  *status = op.status();
  if (!op.ok()) return {};
  before_run();
  const ActivationDesc& output = (*op)->output();
  const int64_t outputs = NumElements(output.shape);
  const int64_t weights = shape.out_channels * input[1] / shape.groups * 6;
  const auto floats = [&](int64_t n, uint64_t seed, int64_t offset = 0) {
    return DeviceValues(device.get(), Storage::kFloat, RandomValues(n, seed),
                        offset);
  };
  const DeviceValues x = floats(plain.num_floats, 1);
  const DeviceValues weight = floats(weights, 2, 3);
  const DeviceValues bias = floats(shape.out_channels, 3, 1);
  const DeviceValues dy(device.get(), output, RandomValues(outputs, 4));
  const DeviceValues y(device.get(), output, RandomValues(outputs, 5));
  const DeviceValues plain_y = floats(outputs, 5);
  const DeviceValues plain_dy = floats(outputs, 4);
  const DeviceValues dx = floats(plain.num_floats, 6);
  const DeviceValues dweight = floats(weights, 7, 3);
  const DeviceValues dbias = floats(shape.out_channels, 8, 1);
  const auto reorder = nn.PlanReorder(output).value();
  *status = reorder->Backward(nullptr, nullptr, plain_dy.floats(), dy.floats());
  if (status->ok()) {
    *status =
        (*op)->Forward(x.floats(), weight.floats(), bias.floats(), y.floats());
  }
  if (status->ok()) *status = reorder->Forward(y.floats(), plain_y.floats());
  if (status->ok()) {
    *status = (*op)->Backward(x.floats(), weight.floats(), dy.floats(),
                              dx.floats(), dweight.floats(), dbias.floats());
  }
  return {plain_y.Values(), dx.Values(), dweight.Values(), dbias.Values()};
}

void ExpectSame(const std::vector<float>& actual,
                const std::vector<float>& expected, double tolerance = 1e-5) {
  ExpectClose(actual, std::vector<double>(expected.begin(), expected.end()),
              tolerance);
}

TEST(EmulatedCudnnConvolution, EqualsTheProductsOfMatrices) {
  FakeCudnn cudnn;
  for (const ConvolutionShape& shape :
       {Shape3x2(5, 1, 0, 1), Shape3x2(6, 2, 1, 2), Shape3x2(4, 3, 2, 4)}) {
    const Shape input = {3, 4, 9, 7};
    absl::Status status;
    const Convolved expected =
        RunConvolution(NewProducts(), shape, input, &status);
    ASSERT_TRUE(status.ok()) << status;
    const Convolved actual = RunConvolution(NewDevice(), shape, input, &status);
    ASSERT_TRUE(status.ok()) << status;
    ExpectSame(actual.y, expected.y);
    ExpectSame(actual.dx, expected.dx);
    ExpectSame(actual.dweight, expected.dweight);
    ExpectSame(actual.dbias, expected.dbias);
    EXPECT_EQ(cudnn.math, CUDNN_FMA_MATH);
    EXPECT_EQ(cudnn.algorithm, 1);  // The deterministic one that fits.
  }
  EXPECT_EQ(cudnn.num_calls, 18);       // Each once more when it is planned.
  EXPECT_EQ(cudnn.num_descriptors, 0);  // All have been destroyed.
}

// Takes plain images, which the layer first converts to cuDNN's layout.
TEST(EmulatedCudnnConvolution, OfBfloat16EqualsTheProductsOfMatrices) {
  FakeCudnn cudnn;
  for (const ConvolutionShape& shape :
       {Shape3x2(5, 1, 0, 1), Shape3x2(6, 2, 1, 2), Shape3x2(4, 3, 2, 4)}) {
    const Shape input = {3, 4, 9, 7};
    absl::Status status;
    Convolved expected =
        RunConvolution(NewProducts(Precision::kBf16), shape, input, &status);
    ASSERT_TRUE(status.ok()) << status;
    const Convolved actual =
        RunConvolution(NewDevice(Precision::kBf16), shape, input, &status);
    ASSERT_TRUE(status.ok()) << status;
    // Float sums in another order may be rounded to the other neighbour.
    const auto expect_close = [](const std::vector<float>& actual,
                                 const std::vector<float>& expected) {
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        EXPECT_NEAR(actual[i], expected[i], std::abs(expected[i]) / 128 + 1e-5);
      }
    };
    expect_close(actual.y, expected.y);
    expect_close(actual.dx, expected.dx);
    EXPECT_NE(actual.dweight, expected.dweight);
    // cuDNN rounds its gradient.
    for (float& value : expected.dweight) value = Bfloat16(value);
    expect_close(actual.dweight, expected.dweight);
    EXPECT_EQ(actual.dbias, expected.dbias);
    EXPECT_EQ(cudnn.math, CUDNN_TENSOR_OP_MATH);
    EXPECT_EQ(cudnn.algorithm, 1);
  }
  EXPECT_EQ(cudnn.num_calls, 18);  // Each once more when it is planned.
  EXPECT_EQ(cudnn.num_descriptors, 0);
}

TEST(EmulatedCudnnConvolution, OptionsReachTheLibrary) {
  FakeCudnn cudnn;
  absl::Status status;
  RunConvolution(NewDevice(Precision::kTf32, /*deterministic=*/false),
                 Shape3x2(4, 1, 0, 1), {1, 2, 4, 4}, &status);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(cudnn.math, CUDNN_DEFAULT_MATH);
  EXPECT_EQ(cudnn.algorithm, 3);  // The first of the heuristics.
  // The math is the algorithm's own.
  RunConvolution(NewDevice(Precision::kTf32), Shape3x2(4, 1, 0, 1),
                 {1, 2, 4, 4}, &status);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(cudnn.math, CUDNN_TENSOR_OP_MATH);
  EXPECT_EQ(cudnn.algorithm, 1);
}

// The heuristics propose algorithms that then fail.
TEST(EmulatedCudnnConvolution, AnAlgorithmThatFailsIsReplacedByTheNext) {
  FakeCudnn cudnn;
  cudnn.broken = {3};
  absl::Status status;
  const Convolved expected = RunConvolution(NewProducts(), Shape3x2(6, 2, 1, 2),
                                            {3, 4, 9, 7}, &status);
  {
    const LogMessages log;
    const Convolved actual =
        RunConvolution(NewDevice(Precision::kFp32, /*deterministic=*/false),
                       Shape3x2(6, 2, 1, 2), {3, 4, 9, 7}, &status);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(cudnn.algorithm, 1);
    ExpectSame(actual.y, expected.y);
    ExpectSame(actual.dx, expected.dx);
    ExpectSame(actual.dweight, expected.dweight);
  }
  // Not one is left.
  cudnn.broken = {1};
  const LogMessages log;
  const Convolved actual =
      RunConvolution(NewDevice(), Shape3x2(6, 2, 1, 2), {3, 4, 9, 7}, &status);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(log.all().size(), 6);
  EXPECT_TRUE(absl::StrContains(log.all()[0],
                                "algorithm 1 for the forward pass of a "
                                "convolution of 3 x 4 x 9 x 7"))
      << log.all()[0];
  EXPECT_TRUE(absl::StrContains(log.all()[1], "products of matrices compute"));
  ExpectSame(actual.y, expected.y);
  ExpectSame(actual.dx, expected.dx);
  ExpectSame(actual.dweight, expected.dweight);
}

TEST(EmulatedCudnnConvolution, CannotBeDoneWithout) {
  InstallEmulatedCudnn(false);
  const auto device = NewDevice();
  InstallEmulatedCudnn(true);
  absl::Status status;
  RunConvolution(device, Shape3x2(6, 2, 1, 2), {3, 4, 9, 7}, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "convolutions need cuDNN"))
      << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "libcudnn.so.")) << status;
}

// Each pass stands for itself: the other two stay with cuDNN.
TEST(EmulatedCudnnConvolution, PassesWithoutAnAlgorithmAreProductsOfMatrices) {
  const Shape input = {3, 4, 9, 7};
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    absl::Status status;
    const Convolved expected = RunConvolution(
        NewProducts(precision), Shape3x2(6, 2, 1, 2), input, &status);
    const std::pair<const char*, const char*> passes[] = {
        {"forward", "forward pass"},
        {"backward_data", "input's gradient"},
        {"backward_filter", "weights' gradient"}};
    for (const auto& [pass, name] : passes) {
      FakeCudnn cudnn;
      cudnn.only_atomics = {pass};
      const LogMessages log;
      const Convolved actual = RunConvolution(
          NewDevice(precision), Shape3x2(6, 2, 1, 2), input, &status);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(log.all().size(), 1);
      EXPECT_EQ(log.all()[0],
                absl::StrCat("cuDNN has no deterministic algorithm with at "
                             "most 512 MiB of workspace for the ",
                             name,
                             " of a convolution of 3 x 4 x 9 x 7 with 6 "
                             "kernels of 3 x 2, stride 2, padding 1, groups 2, "
                             "which products of matrices compute"));
      EXPECT_EQ(cudnn.num_calls, 4);
      const double tolerance = precision == Precision::kFp32 ? 1e-5 : 0.02;
      ExpectSame(actual.y, expected.y, tolerance);
      ExpectSame(actual.dx, expected.dx, tolerance);
      ExpectSame(actual.dweight, expected.dweight, tolerance);
      ExpectSame(actual.dbias, expected.dbias, tolerance);
    }
  }
}

TEST(EmulatedCudnnConvolution,
     TheFastestAlgorithmOfEachPassIsTakenWhereBitsMayVary) {
  for (const int fastest : {1, 3}) {
    FakeCudnn cudnn;
    cudnn.milliseconds = {{1, fastest == 1 ? 1.0f : 5.0f}, {3, 2.0f}};
    const LogMessages log;
    const auto planned =
        CudaNnKernels(NewDevice(Precision::kFp32, /*deterministic=*/false))
            .PlanConvolution(Shape3x2(4, 1, 0, 1),
                             ActivationDesc::Plain({1, 2, 4, 4}));
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_EQ(cudnn.num_timings, 3);
    EXPECT_EQ(cudnn.num_calls, 3);  // Whether they run.
    EXPECT_EQ(cudnn.algorithm, fastest);
    ASSERT_EQ(log.all().size(), 3);
    EXPECT_EQ(log.all()[0],
              absl::StrCat("the forward pass of a convolution of 1 x 2 x 4 x 4 "
                           "with 4 kernels of 3 x 2, stride 1, padding 0, "
                           "groups 1: algorithm ",
                           fastest, " is the fastest with ",
                           fastest == 1 ? 1 : 2, " ms"));
  }
}

TEST(EmulatedCudnnConvolution, NothingIsTimedWhereBitsMustBeTheSame) {
  FakeCudnn cudnn;
  const auto planned =
      CudaNnKernels(NewDevice())
          .PlanConvolution(Shape3x2(4, 1, 0, 1),
                           ActivationDesc::Plain({1, 2, 4, 4}));
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(cudnn.num_calls, 3);  // Whether they run.
  EXPECT_EQ(cudnn.num_timings, 0);
}

TEST(EmulatedCudnnConvolution, ErrorsNameTheCallAndNothingIsLeftBehind) {
  struct Case {
    const char* call;
    const char* name;
    bool planning = true;
  };
  const Case calls[] = {
      {"set_tensor", "cudnnSetTensor4dDescriptor"},
      {"set_filter", "cudnnSetFilter4dDescriptor"},
      {"set_convolution", "cudnnSetConvolution2dDescriptor"},
      {"set_math_type", "cudnnSetConvolutionMathType"},
      {"set_group_count", "cudnnSetConvolutionGroupCount"},
      {"heuristics", "cudnnGetConvolutionForwardAlgorithm_v7"},
      {"forward", "cudnnConvolutionForward", false},
      {"backward_data", "cudnnConvolutionBackwardData", false},
      {"backward_filter", "cudnnConvolutionBackwardFilter", false}};
  for (const Case& c : calls) {
    FakeCudnn cudnn;
    if (c.planning) cudnn.failing = c.call;
    absl::Status status;
    RunConvolution(NewDevice(), Shape3x2(4, 1, 0, 1), {1, 2, 4, 4}, &status,
                   [&] { cudnn.failing = c.call; });
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), c.name)) << status;
    EXPECT_EQ(cudnn.num_descriptors, 0) << c.call;
  }
}

// If the library is installed, it has every function; without a device, the
// error says what is missing.
TEST(EmulatedCudnnFunctions, AreFoundWhereTheLibraryIs) {
  UseInstalledLibraries(true);
  const auto cudnn = LoadCudnn();
  UseInstalledLibraries(false);
  if (!cudnn.ok()) {
    EXPECT_EQ(cudnn.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(absl::StrContains(cudnn.status().message(), "libcudnn"))
        << cudnn.status();
    ASSERT_FALSE(absl::StrContains(cudnn.status().message(), "has no function"))
        << cudnn.status();
    GTEST_SKIP() << "cuDNN is not installed";
  }
  cudnnHandle_t handle = nullptr;
  const cudnnStatus_t status = cudnn->create(&handle);
  if (status == CUDNN_STATUS_SUCCESS) {
    EXPECT_EQ(cudnn->destroy(handle), CUDNN_STATUS_SUCCESS);
  } else {
    const absl::Status error = CudnnToStatus(*cudnn, status, "cudnnCreate");
    EXPECT_TRUE(absl::StrContains(error.message(), "cudnnCreate: CUDNN_STATUS"))
        << error;
  }
}

}  // namespace
}  // namespace ps
