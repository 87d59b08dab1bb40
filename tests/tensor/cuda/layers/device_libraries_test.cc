// How a LayerDevice starts and uses CUDA's libraries, on an emulated device.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"
#include "tests/common/log_messages.h"
#include "tests/tensor/cuda/emulated_libraries.h"
#include "tests/tensor/cuda/layers/layer_device_for_test.h"

namespace ps {
namespace {

class EmulatedDeviceLibraries : public testing::Test {
 protected:
  ~EmulatedDeviceLibraries() override { FailEmulatedCudnn(""); }

  std::shared_ptr<LayerDevice> NewDevice() const {
    return NewLayerDeviceForTest(options_);
  }

  static absl::Status PlanConvolution(std::shared_ptr<LayerDevice> device) {
    ConvolutionShape shape;
    shape.out_channels = 5;
    shape.kernel_height = shape.kernel_width = 3;
    return CudaNnKernels(std::move(device))
        .PlanConvolution(shape, ActivationDesc::Plain({2, 3, 4, 4}))
        .status();
  }

  CudaNnOptions options_;
};

// A network without convolutions does not need it.
TEST_F(EmulatedDeviceLibraries, ACudnnThatCannotStartIsNamedByConvolutions) {
  // Some of its libraries are loaded only when a convolution is planned.
  for (const char* const call : {"create", "heuristics"}) {
    FailEmulatedCudnn(call);
    const LogMessages log;
    const absl::Status status = PlanConvolution(NewDevice());
    EXPECT_FALSE(status.ok());
    EXPECT_TRUE(absl::StrContains(status.message(), "cudnn")) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "CUDNN_STATUS_FAKE (1008)"))
        << status;
    EXPECT_EQ(log.all().size(), 0);
  }
  FailEmulatedCudnn("");
  const absl::Status status = PlanConvolution(NewDevice());
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(EmulatedDeviceLibraries, RecurrentLayersUseCudnnIfTheyMust) {
  RecurrentShape shape;
  shape.hidden = 3;
  const ActivationDesc input = ActivationDesc::Plain({2, 4, 5});
  for (const bool by_cudnn : {false, true}) {
    options_.cudnn_recurrent = by_cudnn;
    const auto device = NewDevice();
    CudaSequenceKernels kernels(device, 1);
    const auto layer = kernels.PlanRecurrent(shape, input);
    ASSERT_TRUE(layer.ok()) << layer.status();
    EXPECT_EQ((*layer)->output().shape, (Shape{2, 4, 3}));
    std::vector<float> weights(12 * (5 + 3 + 2)), x(40), y(24);
    const DeviceValues w(device.get(), Storage::kFloat, weights),
        in(device.get(), Storage::kFloat, x),
        out(device.get(), Storage::kFloat, y);
    const int64_t before = NumEmulatedConvolutions();
    const float* const first = w.floats();
    const absl::Status status = (*layer)->Forward(
        in.floats(), {first, first + 60, first + 96, first + 108},
        out.floats());
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(NumEmulatedConvolutions() - before, by_cudnn ? 1 : 0);
  }
  FailEmulatedCudnn("create");
  const absl::Status status =
      CudaSequenceKernels(NewDevice(), 1).PlanRecurrent(shape, input).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "recurrent layers by cuDNN: cudnnCreate"))
      << status;
}

}  // namespace
}  // namespace ps
