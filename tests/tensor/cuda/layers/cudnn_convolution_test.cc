// How convolutions are passed to cuDNN, using a fake one.

#include "tensor/cuda/libraries/cudnn_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/nn/cuda_convolution.h"
#include "tensor/cuda/nn/cuda_reorder.h"
#include "tensor/precision.h"
#include "tests/common/log_messages.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/cuda/layers/emulated_layer_device.h"
#include "tests/tensor/cuda/layers/fake_cudnn.h"

namespace ps {
namespace {

// An emulated device with the fake cuDNN.
class CudnnDevice final : public EmulatedLayerDevice {
 public:
  explicit CudnnDevice(
      const CudnnConvolutionOptions& options,
      const EmulatedLayerDeviceOptions& device = EmulatedLayerDeviceOptions())
      : EmulatedLayerDevice(device),
        options_(options),
        handle_(CudnnHandle::Create(FakeCudnn::Functions(), nullptr).value()) {}

  absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanConvolution(
      const ConvolutionGeometry& geometry) override {
    return PlanCudnnConvolution(this, handle_, options_, geometry);
  }

 private:
  const CudnnConvolutionOptions options_;
  const std::shared_ptr<CudnnHandle> handle_;
};

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

// By the fake's own clock.
TimeWork TimerOf(const FakeCudnn& cudnn) {
  return [&cudnn](const std::function<absl::Status()>& work)
             -> absl::StatusOr<absl::Duration> {
    const double start = cudnn.elapsed_milliseconds;
    const absl::Status status = work();
    if (!status.ok()) return status;
    return absl::Milliseconds(cudnn.elapsed_milliseconds - start);
  };
}

// Runs one iteration.
Convolved RunConvolution(LayerDevice* device, const ConvolutionShape& shape,
                         const Shape& input, absl::Status* status) {
  const auto op =
      PlanCudaConvolution(device, shape, ActivationDesc::Plain(input));
  *status = op.status();
  if (!op.ok()) return {};
  const int64_t inputs = NumElements(input);
  const ActivationDesc& output = (*op)->output();
  const int64_t outputs = NumElements(output.shape);
  const int64_t weights = shape.out_channels * input[1] / shape.groups * 6;
  std::vector<DeviceArray<float>> arrays;
  // Filled with random values; begins `offset` floats after an aligned address.
  const auto array = [&](int64_t n, int64_t offset, uint64_t seed) {
    arrays.push_back(DeviceArray<float>::Create(device, n + offset).value());
    float* const data = arrays.back().data() + offset;
    const std::vector<float> values = RandomValues(n, seed);
    std::copy(values.begin(), values.end(), data);
    return data;
  };
  const float* const x = array(inputs, 0, 1);
  const float* const weight = array(weights, 3, 2);
  const float* const bias = array(shape.out_channels, 1, 3);
  const float* const plain_dy = array(outputs, 0, 4);
  float* const dy = array(outputs, 0, 5);
  float* const y = array(outputs, 0, 5);
  float* const plain_y = array(outputs, 0, 5);
  float* const dx = array(inputs, 0, 6);
  float* const dweight = array(weights, 3, 7);
  float* const dbias = array(shape.out_channels, 1, 8);
  const auto reorder = PlanCudaReorder(device, output).value();
  *status = reorder->Backward(nullptr, nullptr, plain_dy, dy);
  if (status->ok()) *status = (*op)->Forward(x, weight, bias, y);
  if (status->ok()) *status = reorder->Forward(y, plain_y);
  if (status->ok()) {
    *status = (*op)->Backward(x, weight, dy, dx, dweight, dbias);
  }
  return {{plain_y, plain_y + outputs},
          {dx, dx + inputs},
          {dweight, dweight + weights},
          {dbias, dbias + shape.out_channels}};
}

void ExpectSame(const std::vector<float>& actual,
                const std::vector<float>& expected, double tolerance = 1e-5) {
  ExpectClose(actual, std::vector<double>(expected.begin(), expected.end()),
              tolerance);
}

TEST(CudnnConvolution, EqualsTheProductsOfMatrices) {
  FakeCudnn cudnn;
  for (const ConvolutionShape& shape :
       {Shape3x2(5, 1, 0, 1), Shape3x2(6, 2, 1, 2), Shape3x2(4, 3, 2, 4)}) {
    const Shape input = {3, 4, 9, 7};
    absl::Status status;
    EmulatedLayerDevice products{EmulatedLayerDeviceOptions()};
    const Convolved expected = RunConvolution(&products, shape, input, &status);
    ASSERT_TRUE(status.ok()) << status;
    CudnnDevice device{CudnnConvolutionOptions()};
    const Convolved actual = RunConvolution(&device, shape, input, &status);
    ASSERT_TRUE(status.ok()) << status;
    ExpectSame(actual.y, expected.y);
    ExpectSame(actual.dx, expected.dx);
    ExpectSame(actual.dweight, expected.dweight);
    ExpectSame(actual.dbias, expected.dbias);
    EXPECT_EQ(cudnn.math, CUDNN_FMA_MATH);
    EXPECT_EQ(cudnn.algorithm, 1);  // The deterministic one that fits.
  }
  EXPECT_EQ(cudnn.num_calls, 9);
  EXPECT_EQ(cudnn.num_descriptors, 0);  // All have been destroyed.
}

// Takes plain images, which the layer first converts to cuDNN's layout.
TEST(CudnnConvolution, OfBfloat16EqualsTheProductsOfMatrices) {
  FakeCudnn cudnn;
  EmulatedLayerDeviceOptions bf16;
  bf16.precision = Precision::kBf16;
  for (const ConvolutionShape& shape :
       {Shape3x2(5, 1, 0, 1), Shape3x2(6, 2, 1, 2), Shape3x2(4, 3, 2, 4)}) {
    const Shape input = {3, 4, 9, 7};
    absl::Status status;
    EmulatedLayerDevice products(bf16);
    Convolved expected = RunConvolution(&products, shape, input, &status);
    ASSERT_TRUE(status.ok()) << status;
    CudnnDevice device(CudnnConvolutionOptions(), bf16);
    const Convolved actual = RunConvolution(&device, shape, input, &status);
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
  EXPECT_EQ(cudnn.num_calls, 9);
  EXPECT_EQ(cudnn.num_descriptors, 0);
}

TEST(CudnnConvolution, OptionsReachTheLibrary) {
  FakeCudnn cudnn;
  CudnnConvolutionOptions options;
  options.deterministic = false;
  options.allow_tf32 = true;
  CudnnDevice device(options);
  absl::Status status;
  RunConvolution(&device, Shape3x2(4, 1, 0, 1), {1, 2, 4, 4}, &status);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(cudnn.math, CUDNN_DEFAULT_MATH);
  EXPECT_EQ(cudnn.algorithm, 3);  // The first of the heuristics.
}

// Each pass stands for itself: the other two stay with cuDNN.
TEST(CudnnConvolution, PassesWithoutAnAlgorithmAreProductsOfMatrices) {
  const Shape input = {3, 4, 9, 7};
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    EmulatedLayerDeviceOptions options;
    options.precision = precision;
    absl::Status status;
    EmulatedLayerDevice products(options);
    const Convolved expected =
        RunConvolution(&products, Shape3x2(6, 2, 1, 2), input, &status);
    const std::pair<const char*, const char*> passes[] = {
        {"forward", "forward pass"},
        {"backward_data", "input's gradient"},
        {"backward_filter", "weights' gradient"}};
    for (const auto& [pass, name] : passes) {
      FakeCudnn cudnn;
      cudnn.only_atomics = {pass};
      const LogMessages log;
      CudnnDevice device(CudnnConvolutionOptions(), options);
      const Convolved actual =
          RunConvolution(&device, Shape3x2(6, 2, 1, 2), input, &status);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(log.all().size(), 1);
      EXPECT_EQ(log.all()[0],
                absl::StrCat("cuDNN has no deterministic algorithm with at "
                             "most 512 MiB of workspace for the ",
                             name,
                             " of a convolution of 3 x 4 x 9 x 7 with 6 "
                             "kernels of 3 x 2, stride 2, padding 1, groups 2, "
                             "which products of matrices compute"));
      EXPECT_EQ(cudnn.num_calls, 2);
      const double tolerance = precision == Precision::kFp32 ? 1e-5 : 0.02;
      ExpectSame(actual.y, expected.y, tolerance);
      ExpectSame(actual.dx, expected.dx, tolerance);
      ExpectSame(actual.dweight, expected.dweight, tolerance);
      ExpectSame(actual.dbias, expected.dbias, tolerance);
    }
  }
}

TEST(CudnnConvolution, TheFastestAlgorithmOfEachPassIsTakenWhereBitsMayVary) {
  for (const int fastest : {1, 3}) {
    FakeCudnn cudnn;
    cudnn.milliseconds = {{1, fastest == 1 ? 1 : 5}, {3, 2}};
    Trials trials(TimerOf(cudnn));
    CudnnConvolutionOptions options;
    options.deterministic = false;
    options.trials = &trials;
    const LogMessages log;
    {
      CudnnDevice device(options);
      absl::Status status;
      const ConvolutionShape shape = Shape3x2(4, 1, 0, 1);
      const auto plan = [&] {
        return PlanCudaConvolution(&device, shape,
                                   ActivationDesc::Plain({1, 2, 4, 4}));
      };
      ASSERT_TRUE(plan().ok());
      const int tried = cudnn.num_calls;
      // Three passes, two algorithms, at most four runs.
      EXPECT_GE(tried, 3 * 2 * 2);
      EXPECT_LE(tried, 3 * 2 * 4);
      ASSERT_TRUE(plan().ok());
      EXPECT_EQ(cudnn.num_calls, tried) << "the same convolution, tried again";
      RunConvolution(&device, shape, {1, 2, 4, 4}, &status);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(cudnn.num_calls, tried + 3);
      EXPECT_EQ(cudnn.algorithm, fastest);
    }
    ASSERT_EQ(log.all().size(), 3);
    EXPECT_EQ(log.all()[0],
              absl::StrCat("the forward pass of a convolution of 1 x 2 x 4 x 4 "
                           "with 4 kernels of 3 x 2, stride 1, padding 0, "
                           "groups 1: of 2 algorithms number ",
                           fastest == 1 ? 2 : 1, " is the fastest with ",
                           fastest == 1 ? 1 : 2, "ms, the first takes 2ms"));
    EXPECT_EQ(cudnn.num_descriptors, 0);
  }
}

TEST(CudnnConvolution, NothingIsTriedWhereBitsMustBeTheSame) {
  FakeCudnn cudnn;
  Trials trials(TimerOf(cudnn));
  CudnnConvolutionOptions options;
  options.trials = &trials;
  CudnnDevice device(options);
  const auto planned = PlanCudaConvolution(&device, Shape3x2(4, 1, 0, 1),
                                           ActivationDesc::Plain({1, 2, 4, 4}));
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(cudnn.num_calls, 0);
}

TEST(CudnnConvolution, ErrorsNameTheCallAndNothingIsLeftBehind) {
  const std::pair<const char*, const char*> calls[] = {
      {"set_tensor", "cudnnSetTensor4dDescriptor"},
      {"set_filter", "cudnnSetFilter4dDescriptor"},
      {"set_convolution", "cudnnSetConvolution2dDescriptor"},
      {"set_math_type", "cudnnSetConvolutionMathType"},
      {"set_group_count", "cudnnSetConvolutionGroupCount"},
      {"heuristics", "cudnnGetConvolutionForwardAlgorithm_v7"},
      {"forward", "cudnnConvolutionForward"},
      {"backward_data", "cudnnConvolutionBackwardData"},
      {"backward_filter", "cudnnConvolutionBackwardFilter"}};
  for (const auto& [call, name] : calls) {
    FakeCudnn cudnn;
    cudnn.failing = call;
    {
      CudnnDevice device{CudnnConvolutionOptions()};
      absl::Status status;
      RunConvolution(&device, Shape3x2(4, 1, 0, 1), {1, 2, 4, 4}, &status);
      EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), name)) << status;
    }
    EXPECT_EQ(cudnn.num_descriptors, 0) << call;
  }
}

// If the library is installed, it has every function; without a device, the
// error says what is missing.
TEST(CudnnFunctions, AreFoundWhereTheLibraryIs) {
  const auto cudnn = LoadCudnn();
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
