// How recurrent layers are passed to cuDNN, using a fake one that computes them
// from their equations.

#include "tensor/cuda/libraries/cudnn_recurrent.h"

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
#include "tensor/cuda/sequences/cuda_recurrent.h"
#include "tensor/precision.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/cuda/layers/emulated_layer_device.h"
#include "tests/tensor/cuda/layers/fake_cudnn.h"

namespace ps {
namespace {

EmulatedLayerDeviceOptions With(Precision precision) {
  EmulatedLayerDeviceOptions options;
  options.precision = precision;
  return options;
}

// An emulated device whose recurrent layers are cuDNN's.
class CudnnDevice final : public EmulatedLayerDevice {
 public:
  explicit CudnnDevice(Precision precision,
                       const CudnnFunctions& functions = FakeCudnn::Functions())
      : EmulatedLayerDevice(With(precision)),
        handle_(CudnnHandle::Create(functions, nullptr).value()) {}

  absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanRecurrent(
      const RecurrentShape& shape, const ActivationDesc& input) override {
    return PlanCudnnRecurrent(this, handle_, shape, input);
  }

 private:
  const std::shared_ptr<CudnnHandle> handle_;
};

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
  Layer(LayerDevice* device, const RecurrentShape& shape, bool plain_input)
      : device_(device),
        input_(plain_input ? ActivationDesc::Plain({kSteps, kBatch, kFeatures})
                           : CudaActivation(device->storage(),
                                            {kSteps, kBatch, kFeatures})) {
    auto op = PlanCudaRecurrent(device, shape, input_);
    status_ = op.status();
    if (!status_.ok()) return;
    op_ = *std::move(op);
    const int64_t rows = shape.num_gates() * kHidden;
    const int64_t sizes[] = {rows * kFeatures, rows * kHidden, rows, rows};
    for (int i = 0; i < 4; ++i) {
      weights_[i] = Floats(sizes[i], 10 + i, /*offset=*/3);
      gradients_[i] = Floats(sizes[i], 20 + i, /*offset=*/1);
      gradient_sizes_[i] = sizes[i];
    }
    x_ = Activation(input_, 1);
    y_ = Activation(op_->output(), 2);
    dy_ = Activation(op_->output(), 3);
    dx_ = Activation(input_, 4);
  }

  RecurrentOp& op() { return *op_; }
  const absl::Status& status() const { return status_; }

  std::vector<float> Forward(uint64_t seed) {
    Fill(input_, seed, x_);
    status_ = op_->Forward(
        x_, {weights_[0], weights_[1], weights_[2], weights_[3]}, y_);
    EXPECT_TRUE(status_.ok()) << status_;
    const std::vector<float> y = Values(op_->output(), y_);
    // As a later layer that works in place might do.
    Fill(op_->output(), 99, y_);
    return y;
  }

  // dx and the gradients of the weights.
  std::vector<std::vector<float>> Backward(bool with_dx = true) {
    RecurrentOp::BackwardArguments a;
    a.x = x_;
    a.dy = dy_;
    a.weights = {weights_[0], weights_[1], weights_[2], weights_[3]};
    a.dx = with_dx ? dx_ : nullptr;
    a.gradients = {gradients_[0], gradients_[1], gradients_[2], gradients_[3]};
    status_ = op_->Backward(a);
    EXPECT_TRUE(status_.ok()) << status_;
    std::vector<std::vector<float>> all;
    if (with_dx) all.push_back(Values(input_, dx_));
    for (int i = 0; i < 4; ++i) {
      all.emplace_back(gradients_[i], gradients_[i] + gradient_sizes_[i]);
    }
    return all;
  }

 private:
  float* Floats(int64_t n, uint64_t seed, int64_t offset = 0) {
    arrays_.push_back(DeviceArray<float>::Create(device_, n + offset).value());
    float* const data = arrays_.back().data() + offset;
    const std::vector<float> values = RandomValues(n, seed);
    std::copy(values.begin(), values.end(), data);
    return data;
  }
  float* Activation(const ActivationDesc& desc, uint64_t seed) {
    float* const memory = Floats(desc.num_floats, seed);
    Fill(desc, seed, memory);
    return memory;
  }
  static void Fill(const ActivationDesc& desc, uint64_t seed, float* memory) {
    const std::vector<float> values =
        RandomValues(NumElements(desc.shape), seed);
    if (desc.layout == nullptr) {
      std::copy(values.begin(), values.end(), memory);
    } else {
      std::copy(values.begin(), values.end(), Elements<Bfloat16>(memory));
    }
  }
  static std::vector<float> Values(const ActivationDesc& desc, float* memory) {
    const int64_t n = NumElements(desc.shape);
    if (desc.layout == nullptr) return {memory, memory + n};
    const Bfloat16* const elements = Elements<Bfloat16>(memory);
    return {elements, elements + n};
  }

  LayerDevice* const device_;
  const ActivationDesc input_;
  absl::Status status_;
  std::unique_ptr<RecurrentOp> op_;
  std::vector<DeviceArray<float>> arrays_;
  float* weights_[4] = {};
  float* gradients_[4] = {};
  int64_t gradient_sizes_[4] = {};
  float* x_ = nullptr;
  float* y_ = nullptr;
  float* dy_ = nullptr;
  float* dx_ = nullptr;
};

void ExpectNear(const std::vector<float>& actual,
                const std::vector<float>& expected, Precision precision) {
  ExpectClose(actual, std::vector<double>(expected.begin(), expected.end()),
              precision == Precision::kFp32 ? 1e-5 : 0.03);
}

constexpr RecurrentShape::Cell kCells[] = {RecurrentShape::Cell::kLstm,
                                           RecurrentShape::Cell::kGru};

// Over two windows, the second of which starts from the state of the first.
TEST(CudnnRecurrent, EqualsOurKernels) {
  for (const auto cell : kCells) {
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      for (const bool plain_input : {true, false}) {
        for (const bool in_order : {true, false}) {
          FakeCudnn cudnn;
          cudnn.weights_in_order = in_order;
          {
            EmulatedLayerDevice kernels(With(precision));
            CudnnDevice device(precision);
            Layer expected(&kernels, ShapeOf(cell), plain_input);
            Layer actual(&device, ShapeOf(cell), plain_input);
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

TEST(CudnnRecurrent, ResetForgetsTheStateAndDxMayBeLeftOut) {
  FakeCudnn cudnn;
  for (const auto cell : kCells) {
    CudnnDevice device(Precision::kBf16);
    Layer layer(&device, ShapeOf(cell), /*plain_input=*/true);
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
TEST(CudnnRecurrent, AllocatesNothingWhenItRunsAndCopiesWholeArrays) {
  for (const bool in_order : {true, false}) {
    FakeCudnn cudnn;
    cudnn.weights_in_order = in_order;
    CudnnDevice device(Precision::kFp32);
    Layer layer(&device, ShapeOf(RecurrentShape::Cell::kLstm), true);
    const int64_t planned = device.num_allocations();
    ASSERT_EQ(device.num_calls(), 0);  // Planning only allocates.
    layer.Forward(50);
    // The state's two arrays, the weights' four or sixteen, the output.
    EXPECT_EQ(device.num_calls(), in_order ? 2 + 4 + 1 : 2 + 16 + 1);
    layer.Backward();
    EXPECT_EQ(device.num_allocations(), planned);
  }
}

TEST(CudnnRecurrent, PrecisionReachesTheLibrary) {
  FakeCudnn cudnn;
  for (const auto& [precision, math] :
       {std::make_pair(Precision::kFp32, CUDNN_FMA_MATH),
        std::make_pair(Precision::kTf32, CUDNN_DEFAULT_MATH),
        std::make_pair(Precision::kBf16, CUDNN_TENSOR_OP_MATH)}) {
    CudnnDevice device(precision);
    const Layer layer(&device, ShapeOf(RecurrentShape::Cell::kGru), true);
    ASSERT_TRUE(layer.status().ok()) << layer.status();
    EXPECT_EQ(cudnn.math, math);
  }
}

TEST(CudnnRecurrent, ErrorsNameTheCallAndNothingIsLeftBehind) {
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
      CudnnDevice device(Precision::kBf16);
      const Layer layer(&device, ShapeOf(RecurrentShape::Cell::kLstm), true);
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
TEST(CudnnRecurrent, DescriptorsOfTheLibraryTakeEveryLayer) {
  const auto found = LoadCudnn();
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
      CudnnDevice device(precision, functions);
      const Layer layer(&device, ShapeOf(cell), true);
      EXPECT_TRUE(absl::StrContains(layer.status().message(),
                                    "cudnnGetRNNWeightSpaceSize"))
          << layer.status();
    }
  }
}

}  // namespace
}  // namespace ps
