#include "tests/tensor/every_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tensor/cuda/layer_device/cuda_layer_device.h"
#include "tests/tensor/cuda/layers/device_backend.h"
#include "tests/tensor/cuda/layers/emulated_layer_device.h"
#include "tests/tensor/staged_backend.h"

namespace ps {
namespace {

absl::StatusOr<std::shared_ptr<LayerDevice>> NewDevice(const std::string& name,
                                                       bool protect_memory) {
  if (name == "cuda" || name == "cuda_without_cudnn") {
    CudaNnOptions options;
    options.use_cudnn = name == "cuda";
    PS_ASSIGN_OR_RETURN(auto device, NewCudaLayerDevice(options));
    return std::shared_ptr<LayerDevice>(std::move(device));
  }
  EmulatedLayerDeviceOptions options;
  options.protect_memory = protect_memory;
  if (name == "cuda_emulated") {
    options.order = EmulatedOrder::kForward;
  } else if (name == "cuda_emulated_backward") {
    options.order = EmulatedOrder::kBackward;
  } else {
    return absl::NotFoundError(absl::StrCat("no backend ", name));
  }
  return std::make_shared<EmulatedLayerDevice>(options);
}

}  // namespace

std::vector<std::string> BackendNames() {
  return {"cpu", "cuda", "cuda_without_cudnn", "cuda_emulated",
          "cuda_emulated_backward"};
}

absl::StatusOr<std::unique_ptr<Backend>> NewBackendForTest(
    const std::string& name, int num_threads) {
  if (name == "cpu") {
    CpuBackendOptions options;
    options.num_threads = num_threads;
    return NewCpuBackend(options);
  }
  PS_ASSIGN_OR_RETURN(auto device, NewDevice(name, /*protect_memory=*/false));
  return NewStagedBackend(
      NewDeviceBackend(name, std::move(device), num_threads));
}

absl::StatusOr<std::unique_ptr<Backend>> NewDeviceBackendForTest(
    const std::string& name) {
  PS_ASSIGN_OR_RETURN(auto device, NewDevice(name, /*protect_memory=*/true));
  return NewDeviceBackend(name, std::move(device), /*num_threads=*/1);
}

void BackendFixture::UseBackend(const std::string& name) {
  name_ = name;
  const absl::Status status = NewBackendForTest(name).status();
  if (absl::IsUnavailable(status)) {
    GTEST_SKIP() << "no CUDA device (" << status.message() << ")";
  }
  ASSERT_TRUE(status.ok()) << status;
}

std::unique_ptr<Backend> BackendFixture::NewBackend(int num_threads) const {
  auto backend = NewBackendForTest(name_, num_threads);
  CHECK(backend.ok()) << backend.status();
  return *std::move(backend);
}

}  // namespace ps
