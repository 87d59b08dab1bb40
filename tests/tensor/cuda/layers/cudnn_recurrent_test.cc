// How recurrent layers are passed to cuDNN, using a fake one that computes them
// from their equations.

#include "tensor/cuda/sequences/cudnn_recurrent.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"
#include "tensor/precision.h"
#include "tests/ptx/device.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/cuda/emulated_libraries.h"
#include "tests/tensor/cuda/layers/fake_cudnn.h"
#include "tests/tensor/cuda/layers/layer_device_for_test.h"

namespace ps {
namespace {

// A device whose recurrent layers are cuDNN's.
std::shared_ptr<LayerDevice> NewCudnnDevice(Precision precision) {
  CudaNnOptions options;
  options.precision = precision;
  options.cudnn_recurrent = true;
  return NewLayerDeviceForTest(options);
}

constexpr int64_t kSteps = 5, kBatch = 3, kFeatures = 4, kHidden = 6;

RecurrentShape ShapeOf(RecurrentShape::Cell cell) {
  RecurrentShape shape;
  shape.cell = cell;
  shape.hidden = kHidden;
  return shape;
}

// A layer, its weights, which begin anywhere, and its results.
class Layer {
 public:
  // plain_input: the input is floats, as a model's own input is.
  Layer(std::shared_ptr<LayerDevice> device, const RecurrentShape& shape,
        bool plain_input)
      : device_(std::move(device)),
        input_(plain_input ? ActivationDesc::Plain({kSteps, kBatch, kFeatures})
                           : CudaActivation(device_->storage(),
                                            {kSteps, kBatch, kFeatures})) {
    auto op = CudaSequenceKernels(device_, 1).PlanRecurrent(shape, input_);
    status_ = op.status();
    if (!status_.ok()) return;
    op_ = *std::move(op);
    const int64_t rows = shape.num_gates() * kHidden;
    const int64_t sizes[] = {rows * kFeatures, rows * kHidden, rows, rows};
    for (int i = 0; i < 4; ++i) {
      weights_.emplace_back(device_.get(), Storage::kFloat,
                            RandomValues(sizes[i], 10 + i), /*offset=*/3);
      gradients_.emplace_back(device_.get(), Storage::kFloat,
                              RandomValues(sizes[i], 20 + i), /*offset=*/1);
    }
    for (const uint64_t seed : {1, 2, 3, 4}) {
      const ActivationDesc& desc =
          seed == 1 || seed == 4 ? input_ : op_->output();
      activations_.emplace_back(device_.get(), desc,
                                RandomValues(NumElements(desc.shape), seed));
    }
  }

  RecurrentOp& op() { return *op_; }
  const absl::Status& status() const { return status_; }

  std::vector<float> Forward(uint64_t seed) {
    x().Set(RandomValues(NumElements(input_.shape), seed));
    status_ = op_->Forward(x().floats(), Weights(), y().floats());
    EXPECT_TRUE(status_.ok()) << status_;
    const std::vector<float> values = y().Values();
    // As a later layer that works in place might do.
    y().Set(RandomValues(NumElements(op_->output().shape), 99));
    return values;
  }

  // dx and the gradients of the weights.
  std::vector<std::vector<float>> Backward(bool with_dx = true) {
    RecurrentOp::BackwardArguments a;
    a.x = x().floats();
    a.dy = activations_[2].floats();
    a.weights = Weights();
    a.dx = with_dx ? dx().floats() : nullptr;
    a.gradients = {gradients_[0].floats(), gradients_[1].floats(),
                   gradients_[2].floats(), gradients_[3].floats()};
    status_ = op_->Backward(a);
    EXPECT_TRUE(status_.ok()) << status_;
    std::vector<std::vector<float>> all;
    if (with_dx) all.push_back(dx().Values());
    for (const DeviceValues& gradient : gradients_) {
      all.push_back(gradient.Values());
    }
    return all;
  }

 private:
  RecurrentOp::Weights Weights() const {
    return {weights_[0].floats(), weights_[1].floats(), weights_[2].floats(),
            weights_[3].floats()};
  }
  const DeviceValues& x() const { return activations_[0]; }
  const DeviceValues& y() const { return activations_[1]; }
  const DeviceValues& dx() const { return activations_[3]; }

  const std::shared_ptr<LayerDevice> device_;
  const ActivationDesc input_;
  absl::Status status_;
  std::unique_ptr<RecurrentOp> op_;
  std::vector<DeviceValues> weights_;
  std::vector<DeviceValues> gradients_;
  std::vector<DeviceValues> activations_;  // x, y, dy, dx.
};

void ExpectNear(const std::vector<float>& actual,
                const std::vector<float>& expected, Precision precision) {
  ExpectClose(actual, std::vector<double>(expected.begin(), expected.end()),
              precision == Precision::kFp32 ? 1e-5 : 0.03);
}

constexpr RecurrentShape::Cell kCells[] = {RecurrentShape::Cell::kLstm,
                                           RecurrentShape::Cell::kGru};

// Over two windows, the second of which starts from the state of the first.
TEST(EmulatedCudnnRecurrent, EqualsOurKernels) {
  for (const auto cell : kCells) {
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      for (const bool plain_input : {true, false}) {
        for (const bool in_order : {true, false}) {
          FakeCudnn cudnn;
          cudnn.weights_in_order = in_order;
          {
            Layer expected(NewLayerDeviceForTest(precision), ShapeOf(cell),
                           plain_input);
            Layer actual(NewCudnnDevice(precision), ShapeOf(cell), plain_input);
            ASSERT_TRUE(actual.status().ok()) << actual.status();
            for (const uint64_t window : {50, 51}) {
              ExpectNear(actual.Forward(window), expected.Forward(window),
                         precision);
              const auto gradients = actual.Backward();
              const auto expected_gradients = expected.Backward();
              for (size_t i = 0; i < gradients.size(); ++i) {
                SCOPED_TRACE(i);
                ExpectNear(gradients[i], expected_gradients[i], precision);
              }
            }
            EXPECT_EQ(cudnn.num_calls, 6);
            EXPECT_GT(actual.op().num_floats(), kSteps * kBatch * kHidden);
          }
          EXPECT_EQ(cudnn.num_descriptors, 0);
        }
      }
    }
  }
}

TEST(EmulatedCudnnRecurrent, ResetForgetsTheStateAndDxMayBeLeftOut) {
  FakeCudnn cudnn;
  for (const auto cell : kCells) {
    Layer layer(NewCudnnDevice(Precision::kBf16), ShapeOf(cell),
                /*plain_input=*/true);
    const std::vector<float> first = layer.Forward(50);
    EXPECT_NE(layer.Forward(50), first);
    layer.op().ResetState();
    EXPECT_EQ(layer.Forward(50), first);
    auto with_dx = layer.Backward();
    with_dx.erase(with_dx.begin());
    layer.op().ResetState();
    layer.Forward(50);
    EXPECT_EQ(layer.Backward(/*with_dx=*/false), with_dx);
  }
}

// The gates that lie together are copied together.
TEST(EmulatedCudnnRecurrent, AllocatesNothingWhenItRunsAndCopiesWholeArrays) {
  for (const bool in_order : {true, false}) {
    FakeCudnn cudnn;
    cudnn.weights_in_order = in_order;
    Layer layer(NewCudnnDevice(Precision::kFp32),
                ShapeOf(RecurrentShape::Cell::kLstm), true);
    const int64_t planned = ptx::NumAllocations();
    const int64_t calls = ptx::NumCalls();
    layer.Forward(50);
    // The state's two arrays, the weights' four or sixteen, the output, and
    // seven copies of the test's, each with the choice of the device; cuDNN's
    // call; and the test's three waits.
    EXPECT_EQ(ptx::NumCalls() - calls,
              2 * ((in_order ? 2 + 4 + 1 : 2 + 16 + 1) + 5) + 1 + 3);
    layer.Backward();
    EXPECT_EQ(ptx::NumAllocations(), planned);
  }
}

TEST(EmulatedCudnnRecurrent, PrecisionReachesTheLibrary) {
  FakeCudnn cudnn;
  for (const auto& [precision, math] :
       {std::make_pair(Precision::kFp32, CUDNN_FMA_MATH),
        std::make_pair(Precision::kTf32, CUDNN_DEFAULT_MATH),
        std::make_pair(Precision::kBf16, CUDNN_TENSOR_OP_MATH)}) {
    const Layer layer(NewCudnnDevice(precision),
                      ShapeOf(RecurrentShape::Cell::kGru), true);
    ASSERT_TRUE(layer.status().ok()) << layer.status();
    EXPECT_EQ(cudnn.math, math);
  }
}

TEST(EmulatedCudnnRecurrent, ErrorsNameTheCallAndNothingIsLeftBehind) {
  const std::pair<const char*, const char*> calls[] = {
      {"set_rnn",
       "bfloat16, which cuDNN supports since 9.13: "
       "cudnnSetRNNDescriptor_v8"},
      {"set_rnn_data", "cudnnSetRNNDataDescriptor"},
      {"set_tensor_nd", "cudnnSetTensorNdDescriptor"},
      {"rnn_weight_space_size", "cudnnGetRNNWeightSpaceSize"},
      {"rnn_temp_space_sizes", "cudnnGetRNNTempSpaceSizes"},
      {"rnn_weight_params", "cudnnGetRNNWeightParams"}};
  for (const auto& [call, name] : calls) {
    FakeCudnn cudnn;
    cudnn.failing = call;
    cudnn.failure = CUDNN_STATUS_NOT_SUPPORTED;
    {
      const Layer layer(NewCudnnDevice(Precision::kBf16),
                        ShapeOf(RecurrentShape::Cell::kLstm), true);
      const absl::Status& status = layer.status();
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
      EXPECT_TRUE(absl::StrContains(
          status.message(), "cuDNN, recurrent layer from [5, 3, 4] to 6 units"))
          << status;
      EXPECT_TRUE(absl::StrContains(status.message(), name)) << status;
    }
    EXPECT_EQ(cudnn.num_descriptors, 0) << call;
  }
}

// If the library is installed, its descriptors accept everything that they are
// given; this needs no device.
TEST(EmulatedCudnnRecurrent, DescriptorsOfTheLibraryTakeEveryLayer) {
  UseInstalledLibraries(true);
  const auto found = LoadCudnn();
  UseInstalledLibraries(false);
  if (!found.ok()) GTEST_SKIP() << found.status().message();
  FakeCudnn cudnn;
  CudnnFunctions functions = *found;
  functions.create = FakeCudnn::Functions().create;
  functions.destroy = FakeCudnn::Functions().destroy;
  functions.set_stream = FakeCudnn::Functions().set_stream;
  // What follows needs a device.
  functions.rnn_weight_space_size = [](cudnnHandle_t, cudnnRNNDescriptor_t,
                                       size_t*) {
    return CUDNN_STATUS_NOT_SUPPORTED;
  };
  for (const auto cell : kCells) {
    for (const Precision precision :
         {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
      const auto device = NewLayerDeviceForTest(precision);
      const auto handle = CudnnHandle::Create(functions, device->stream());
      const absl::Status status =
          PlanCudnnRecurrent(device.get(), handle.value(), ShapeOf(cell),
                             ActivationDesc::Plain({kSteps, kBatch, kFeatures}))
              .status();
      EXPECT_TRUE(
          absl::StrContains(status.message(), "cudnnGetRNNWeightSpaceSize"))
          << status;
    }
  }
}

}  // namespace
}  // namespace ps
