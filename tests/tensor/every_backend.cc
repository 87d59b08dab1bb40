#include "tests/tensor/every_backend.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tensor/cuda/cuda_backend.h"
#include "tensor/cuda/cuda_support.h"
#include "tensor/cuda/layer_device/cuda_nn_options.h"
#include "tensor/precision.h"
#include "tests/tensor/cuda_options_for_test.h"
#include "tests/tensor/require_device.h"
#include "tests/tensor/staged_backend.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Backend>> NewDevice(const std::string& name) {
  const bool is_bf16 = absl::EndsWith(name, "_bf16");
  const absl::string_view kind =
      absl::string_view(name).substr(0, name.size() - (is_bf16 ? 5 : 0));
  if (kind != "cuda" && kind != "cuda_without_cudnn" &&
      kind != "cuda_cudnn_recurrent") {
    return absl::NotFoundError(absl::StrCat("no backend ", name));
  }
  CudaNnOptions layers;
  layers.precision = is_bf16 ? Precision::kBf16 : Precision::kFp32;
  layers.cudnn_recurrent = kind == "cuda_cudnn_recurrent";
  layers.use_cudnn = kind != "cuda_without_cudnn";
  CudaBackendOptions options = CudaOptionsForTest();
  const CudaSupport* const cuda = FindCudaSupport();
  if (cuda == nullptr) return absl::UnavailableError("built without CUDA");
  options.layers = cuda->layers(layers);
  return cuda->new_backend(options);
}

}  // namespace

std::vector<std::string> BackendNames() {
  return {"cpu", "cuda", "cuda_without_cudnn"};
}

bool NeedsDevice(const std::string& name) { return name != "cpu"; }

absl::StatusOr<std::unique_ptr<Backend>> NewBackendForTest(
    const std::string& name, int num_threads) {
  if (name == "cpu") {
    CpuBackendOptions options;
    options.num_threads = num_threads;
    return NewCpuBackend(options);
  }
  PS_ASSIGN_OR_RETURN(auto device, NewDevice(name));
  return NewStagedBackend(std::move(device));
}

absl::StatusOr<std::unique_ptr<Backend>> NewDeviceBackendForTest(
    const std::string& name) {
  return NewDevice(name);
}

void BackendFixture::UseBackend(const std::string& name) {
  name_ = name;
  if (NeedsDevice(name)) PS_REQUIRE_DEVICE();
  const absl::Status status = NewBackendForTest(name).status();
  ASSERT_TRUE(status.ok()) << status;
}

std::unique_ptr<Backend> BackendFixture::NewBackend(int num_threads) const {
  auto backend = NewBackendForTest(name_, num_threads);
  CHECK(backend.ok()) << backend.status();
  return *std::move(backend);
}

}  // namespace ps
