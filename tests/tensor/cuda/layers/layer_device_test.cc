// How the layers on CUDA use their device: nothing is allocated when they run,
// every error is returned, and the bits do not depend on the order of threads.

#include "tensor/cuda/layer_device/layer_device.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"
#include "tests/ptx/device.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/cuda/layers/layer_device_for_test.h"

namespace ps {
namespace {

// Arrays on a device.
class Arrays {
 public:
  explicit Arrays(LayerDevice* device) : device_(device) {}

  float* Put(const std::vector<float>& values) {
    arrays_.emplace_back(device_, Storage::kFloat, values);
    return arrays_.back().floats();
  }
  float* Random(int64_t n, uint64_t seed) { return Put(RandomValues(n, seed)); }
  // For an activation: both halves of each float are numbers.
  float* RandomLike(const ActivationDesc& desc, uint64_t seed) {
    const int64_t n = (desc.layout == nullptr ? 1 : 2) * desc.num_floats;
    arrays_.emplace_back(device_, desc, RandomValues(n, seed));
    return arrays_.back().floats();
  }
  float* Zeros(int64_t n) { return Put(std::vector<float>(n)); }
  // A number of the host's that belongs to the results.
  float* HostNumber() {
    host_.push_back(std::make_unique<float>(0.0f));
    return host_.back().get();
  }
  // All elements of all arrays.
  std::vector<float> Values() const {
    std::vector<float> values;
    for (const DeviceValues& array : arrays_) {
      const std::vector<float> each = array.Values();
      values.insert(values.end(), each.begin(), each.end());
    }
    for (const auto& number : host_) values.push_back(*number);
    return values;
  }
  std::vector<uint32_t> Bits() const {
    const std::vector<float> values = Values();
    std::vector<uint32_t> bits(values.size());
    std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
    return bits;
  }

 private:
  LayerDevice* const device_;  // Not owned.
  std::vector<DeviceValues> arrays_;
  std::vector<std::unique_ptr<float>> host_;
};

// A planned operation: runs one iteration.
using Iteration = std::function<absl::Status()>;

struct Layer {
  const char* name;
  // Plans on the device, and allocates all arrays that the iteration needs.
  std::function<Iteration(const std::shared_ptr<LayerDevice>&, Arrays*)> plan;
};

Iteration Affine(std::shared_ptr<AffineOp> op, const ActivationDesc& input,
                 int64_t num_weights, int64_t num_biases, Arrays* arrays) {
  const int64_t num_inputs = input.num_floats;
  const int64_t num_outputs = op->output().num_floats;
  float* const x = arrays->RandomLike(input, 1);
  float* const weight = arrays->Random(num_weights, 2);
  float* const bias = arrays->Random(num_biases, 3);
  float* const dy = arrays->RandomLike(op->output(), 4);
  float* const y = arrays->Zeros(num_outputs);
  float* const dx = arrays->Zeros(num_inputs);
  float* const dweight = arrays->Zeros(num_weights);
  float* const dbias = arrays->Zeros(num_biases);
  return [=] {
    absl::Status status = op->Forward(x, weight, bias, y);
    if (status.ok()) status = op->Backward(x, weight, dy, dx, dweight, dbias);
    return status;
  };
}

Iteration Unary(std::shared_ptr<UnaryOp> op, const ActivationDesc& input,
                Arrays* arrays) {
  const int64_t num_inputs = input.num_floats;
  const int64_t num_outputs = op->output().num_floats;
  float* const x = arrays->RandomLike(input, 1);
  float* const dy = arrays->RandomLike(op->output(), 2);
  float* const y = arrays->Zeros(num_outputs);
  float* const dx = arrays->Zeros(num_inputs);
  return [=] {
    absl::Status status = op->Forward(x, y);
    if (status.ok()) status = op->Backward(x, y, dy, dx);
    return status;
  };
}

Iteration BatchNorm(std::shared_ptr<BatchNormOp> op, int64_t channels,
                    Arrays* arrays) {
  const int64_t n = op->output().num_floats;
  BatchNormOp::ForwardArguments forward;
  forward.x = arrays->RandomLike(op->output(), 1);
  forward.residual = arrays->RandomLike(op->output(), 2);
  forward.weight = arrays->Random(channels, 3);
  forward.bias = arrays->Random(channels, 4);
  forward.running_mean = arrays->Zeros(channels);
  forward.running_variance = arrays->Zeros(channels);
  forward.y = arrays->Zeros(n);
  BatchNormOp::BackwardArguments backward;
  backward.x = forward.x;
  backward.y = forward.y;
  backward.dy = arrays->RandomLike(op->output(), 5);
  backward.dx = arrays->Zeros(n);
  backward.dweight = arrays->Zeros(channels);
  backward.dbias = arrays->Zeros(channels);
  return [=] {
    absl::Status status = op->Forward(forward);
    if (status.ok()) status = op->Backward(backward);
    return status;
  };
}

Iteration Loss(std::shared_ptr<SoftmaxCrossEntropyOp> op,
               const ActivationDesc& desc, Arrays* arrays) {
  const int64_t batch = desc.shape[0];
  float* const logits = arrays->RandomLike(desc, 1);
  float* const dlogits = arrays->Zeros(desc.num_floats);
  float* const loss = arrays->HostNumber();
  return [=] {
    const std::vector<int32_t> labels(batch, 1);
    const auto result = op->Run(logits, labels.data(), dlogits);
    if (result.ok()) *loss = static_cast<float>(result->loss);
    return result.status();
  };
}

Iteration Embedding(std::shared_ptr<EmbeddingOp> op, int64_t num_tokens,
                    int64_t table_size, Arrays* arrays) {
  std::vector<float> numbers(num_tokens);
  for (int64_t i = 0; i < num_tokens; ++i) {
    numbers[i] = static_cast<float>(i % 3);
  }
  float* const tokens = arrays->Put(numbers);
  float* const table = arrays->Random(table_size, 1);
  float* const y = arrays->Zeros(op->output().num_floats);
  float* const dy = arrays->RandomLike(op->output(), 2);
  float* const dtable = arrays->Zeros(table_size);
  return [=] {
    absl::Status status = op->Forward(tokens, table, y);
    if (status.ok()) status = op->AddGradient(dy, dtable);
    return status;
  };
}

Iteration Recurrent(std::shared_ptr<RecurrentOp> op,
                    const ActivationDesc& input, int64_t hidden, int64_t gates,
                    Arrays* arrays) {
  const int64_t num_inputs = input.num_floats, features = input.shape[2];
  const int64_t rows = gates * hidden, n = op->output().num_floats;
  RecurrentOp::BackwardArguments a;
  a.x = arrays->RandomLike(input, 1);
  a.dy = arrays->RandomLike(op->output(), 2);
  a.weights = {arrays->Random(rows * features, 3),
               arrays->Random(rows * hidden, 4), arrays->Random(rows, 5),
               arrays->Random(rows, 6)};
  a.dx = arrays->Zeros(num_inputs);
  a.gradients = {arrays->Zeros(rows * features), arrays->Zeros(rows * hidden),
                 arrays->Zeros(rows), arrays->Zeros(rows)};
  float* const y = arrays->Zeros(n);
  return [=] {
    op->ResetState();
    absl::Status status = op->Forward(a.x, a.weights, y);
    if (status.ok()) status = op->Backward(a);
    return status;
  };
}

ConvolutionShape ThreeByThree(int64_t out_channels) {
  ConvolutionShape shape;
  shape.out_channels = out_channels;
  shape.kernel_height = 3;
  shape.kernel_width = 3;
  shape.padding = 1;
  return shape;
}

// An activation of this shape, in the layout of the layers on the device.
ActivationDesc Laid(const std::shared_ptr<LayerDevice>& device, Shape shape) {
  return CudaActivation(device->storage(), std::move(shape));
}
ActivationDesc Images(const std::shared_ptr<LayerDevice>& device) {
  return Laid(device, {3, 2, 41, 40});
}

// Cases with several blocks, chunks or parts.
std::vector<Layer> Layers() {
  using Device = std::shared_ptr<LayerDevice>;
  std::vector<Layer> layers;
  for (const bool plain : {true, false}) {
    layers.push_back(
        {plain ? "ConvolutionOfPlainImages" : "Convolution",
         [=](const Device& device, Arrays* arrays) {
           const ActivationDesc input =
               plain ? ActivationDesc::Plain({3, 2, 41, 40}) : Images(device);
           return Affine(CudaNnKernels(device)
                             .PlanConvolution(ThreeByThree(4), input)
                             .value(),
                         input, 4 * 2 * 9, 4, arrays);
         }});
    layers.push_back(
        {plain ? "LinearOfPlainRows" : "Linear",
         [=](const Device& device, Arrays* arrays) {
           const ActivationDesc input =
               plain ? ActivationDesc::Plain({131, 7}) : Laid(device, {131, 7});
           return Affine(CudaNnKernels(device).PlanLinear(5, input).value(),
                         input, 5 * 7, 5, arrays);
         }});
  }
  layers.push_back(
      {"MaxPooling", [](const Device& device, Arrays* arrays) {
         PoolingShape shape;
         shape.window = 3;
         shape.padding = 1;
         const ActivationDesc input = Images(device);
         return Unary(CudaNnKernels(device).PlanPooling(shape, input).value(),
                      input, arrays);
       }});
  layers.push_back(
      {"GlobalPooling", [](const Device& device, Arrays* arrays) {
         const ActivationDesc input = Images(device);
         return Unary(CudaNnKernels(device).PlanGlobalPooling(input).value(),
                      input, arrays);
       }});
  layers.push_back(
      {"AdaptivePooling", [](const Device& device, Arrays* arrays) {
         const ActivationDesc input = Images(device);
         return Unary(
             CudaNnKernels(device).PlanAdaptivePooling(7, 7, input).value(),
             input, arrays);
       }});
  layers.push_back({"Reorder", [](const Device& device, Arrays* arrays) {
                      const ActivationDesc input = Images(device);
                      return Unary(
                          CudaNnKernels(device).PlanReorder(input).value(),
                          input, arrays);
                    }});
  layers.push_back(
      {"BatchNorm", [](const Device& device, Arrays* arrays) {
         BatchNormShape shape;
         shape.relu = true;
         const ActivationDesc input = Images(device);
         return BatchNorm(
             CudaNnKernels(device).PlanBatchNorm(shape, input, &input).value(),
             2, arrays);
       }});
  layers.push_back(
      {"Loss", [](const Device& device, Arrays* arrays) {
         const ActivationDesc logits = Laid(device, {3, 777});
         return Loss(
             CudaNnKernels(device).PlanSoftmaxCrossEntropy(logits).value(),
             logits, arrays);
       }});
  layers.push_back(
      {"Embedding", [](const Device& device, Arrays* arrays) {
         EmbeddingShape shape;
         shape.num_rows = 4;
         shape.features = 5;
         return Embedding(
             CudaSequenceKernels(device, 1)
                 .PlanEmbedding(shape, ActivationDesc::Plain({60, 9}))
                 .value(),
             60 * 9, 20, arrays);
       }});
  for (const auto cell :
       {RecurrentShape::Cell::kLstm, RecurrentShape::Cell::kGru}) {
    const bool lstm = cell == RecurrentShape::Cell::kLstm;
    layers.push_back(
        {lstm ? "Lstm" : "Gru", [=](const Device& device, Arrays* arrays) {
           RecurrentShape shape;
           shape.cell = cell;
           shape.hidden = 6;
           const ActivationDesc input = Laid(device, {5, 33, 4});
           return Recurrent(CudaSequenceKernels(device, 1)
                                .PlanRecurrent(shape, input)
                                .value(),
                            input, 6, shape.num_gates(), arrays);
         }});
  }
  return layers;
}

class EmulatedLayer
    : public testing::TestWithParam<std::tuple<Precision, size_t>> {
 protected:
  ~EmulatedLayer() override {
    ptx::FailCallsAfter(-1, cudaSuccess);
    ptx::SetOrder(ptx::Order::kForward);
  }

  std::shared_ptr<LayerDevice> NewDevice() const {
    CudaNnOptions options;
    options.precision = std::get<0>(GetParam());
    return NewLayerDeviceForTest(options);
  }
  Iteration Plan(const std::shared_ptr<LayerDevice>& device, Arrays* arrays) {
    return Layers()[std::get<1>(GetParam())].plan(device, arrays);
  }

  std::vector<uint32_t> RunTwice(ptx::Order order) {
    ptx::SetOrder(order);
    const auto device = NewDevice();
    Arrays arrays(device.get());
    const Iteration iteration = Plan(device, &arrays);
    for (int i = 0; i < 2; ++i) {
      const absl::Status status = iteration();
      EXPECT_TRUE(status.ok()) << status;
    }
    return arrays.Bits();
  }
};

TEST_P(EmulatedLayer, AllocatesNothingWhenItRuns) {
  const auto device = NewDevice();
  Arrays arrays(device.get());
  const Iteration iteration = Plan(device, &arrays);
  const int64_t planned = ptx::NumAllocations();
  ASSERT_TRUE(iteration().ok());
  ASSERT_TRUE(iteration().ok());
  EXPECT_EQ(ptx::NumAllocations(), planned);
}

TEST_P(EmulatedLayer, AnyOrderOfThreadsGivesTheSameBits) {
  const std::vector<uint32_t> expected = RunTwice(ptx::Order::kForward);
  EXPECT_EQ(RunTwice(ptx::Order::kBackward), expected);
  EXPECT_EQ(RunTwice(ptx::Order::kShuffled), expected);
}

TEST_P(EmulatedLayer, EveryFailureOfTheDeviceComesBack) {
  const auto device = NewDevice();
  Arrays arrays(device.get());
  const Iteration iteration = Plan(device, &arrays);
  int64_t before = ptx::NumCalls();
  ASSERT_TRUE(iteration().ok());
  const int64_t calls = ptx::NumCalls() - before;
  ASSERT_GT(calls, 0);
  for (int64_t i = 0; i < calls; ++i) {
    before = ptx::NumCalls();
    ptx::FailCallsAfter(static_cast<int>(i), cudaErrorIllegalAddress);
    const absl::Status status = iteration();
    ptx::FailCallsAfter(-1, cudaSuccess);
    EXPECT_THAT(std::string(status.message()),
                testing::ContainsRegex("(an emulated error|CUBLAS_|CUDNN_)"))
        << "call " << i;
    // No call is made after the failure.
    EXPECT_EQ(ptx::NumCalls(), before + i + 1) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, EmulatedLayer,
    testing::Combine(testing::Values(Precision::kFp32, Precision::kBf16),
                     testing::Range<size_t>(0, Layers().size())),
    [](const testing::TestParamInfo<EmulatedLayer::ParamType>& info) {
      return absl::StrCat(PrecisionName(std::get<0>(info.param)), "_",
                          Layers()[std::get<1>(info.param)].name);
    });

}  // namespace
}  // namespace ps
