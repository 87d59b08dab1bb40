// How the real LayerDevice starts and chooses among CUDA's libraries, on an
// emulated device.

#include "tensor/cuda/layer_device/cuda_layer_device.h"

#include "gtest/gtest.h"
#ifdef PS_HAVE_CUDA
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_streams.h"
#include "tests/common/log_messages.h"
#include "tests/ptx/device.h"
#include "tests/tensor/cuda/emulated_libraries.h"
#endif

namespace ps {
namespace {

#ifndef PS_HAVE_CUDA
TEST(CudaLayerDevice, Starts) { GTEST_SKIP() << "built without CUDA"; }
#else

class CudaLayerDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!InstallEmulatedCudnn(true)) GTEST_SKIP() << "built without cuDNN";
    auto stream = CudaStream::Create();
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
    options_.stream = stream_->get();
    // Freed after the stream, whose work may still use it.
    options_.allocate = [this](int64_t size_bytes) {
      auto memory = AllocateDeviceMemory(size_bytes);
      if (memory.ok()) memory_.push_back(*memory);
      return memory;
    };
  }
  ~CudaLayerDeviceTest() override {
    InstallEmulatedCudnn(false);
    FailEmulatedCudnn("");
  }

  std::unique_ptr<LayerDevice> NewDevice() const {
    auto device = NewCudaLayerDevice(options_);
    EXPECT_TRUE(device.ok()) << device.status();
    return *std::move(device);
  }

  static ConvolutionGeometry Geometry() {
    ConvolutionGeometry g;
    g.batch = 2, g.channels = 3, g.height = g.width = 4, g.out_channels = 5;
    g.kernel_height = g.kernel_width = 3, g.out_height = g.out_width = 2;
    return g;
  }

  CudaNnOptions options_;
  std::vector<std::shared_ptr<void> > memory_;
  std::unique_ptr<CudaStream> stream_;
};

TEST_F(CudaLayerDeviceTest, ACudnnThatCannotStartIsDoneWithoutAndNamed) {
  // Some of its libraries are loaded only when a convolution is planned.
  for (const char* const call : {"create", "heuristics"}) {
    FailEmulatedCudnn(call);
    const LogMessages log;
    const auto device = NewDevice();
    for (int i = 0; i < 2; ++i) {
      const auto convolution = device->PlanConvolution(Geometry());
      ASSERT_TRUE(convolution.ok()) << convolution.status();
      EXPECT_EQ(*convolution, nullptr);
    }
    ASSERT_EQ(log.all().size(), 1);
    EXPECT_TRUE(absl::StrContains(
        log.all()[0],
        "convolutions are products of matrices, which is slower: "))
        << log.all()[0];
    EXPECT_TRUE(absl::StrContains(log.all()[0], "cudnn")) << log.all()[0];
    EXPECT_TRUE(absl::StrContains(log.all()[0], "CUDNN_STATUS_FAKE (1008)"))
        << log.all()[0];
  }
  FailEmulatedCudnn("");
  EXPECT_NE(*NewDevice()->PlanConvolution(Geometry()), nullptr);
}

TEST_F(CudaLayerDeviceTest, OnlyWhereBitsMayVaryIsAnythingTimed) {
  MatrixProduct product;
  product.m = product.n = product.k = 8;
  for (const bool deterministic : {true, false}) {
    options_.deterministic = deterministic;
    const auto device = NewDevice();
    int64_t before = ptx::NumTimings();
    ASSERT_TRUE(device->PlanConvolution(Geometry()).ok());
    EXPECT_EQ(ptx::NumTimings() > before, !deterministic);
    before = ptx::NumTimings();
    ASSERT_TRUE(device->PlanFusedProduct(product, Epilogue::kSumA).ok());
    EXPECT_EQ(ptx::NumTimings() > before, !deterministic);
  }
}

TEST_F(CudaLayerDeviceTest, RecurrentLayersUseCudnnIfTheyMust) {
  RecurrentShape shape;
  shape.hidden = 3;
  const ActivationDesc input = ActivationDesc::Plain({2, 4, 5});
  EXPECT_EQ(*NewDevice()->PlanRecurrent(shape, input), nullptr);
  options_.cudnn_recurrent = true;
  {
    const auto device = NewDevice();
    const auto layer = device->PlanRecurrent(shape, input);
    ASSERT_TRUE(layer.ok()) << layer.status();
    EXPECT_EQ((*layer)->output().shape, (Shape{2, 4, 3}));
  }
  FailEmulatedCudnn("create");
  const absl::Status status = NewDevice()->PlanRecurrent(shape, input).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "recurrent layers by cuDNN: cudnnCreate"))
      << status;
}

#endif  // PS_HAVE_CUDA

}  // namespace
}  // namespace ps
