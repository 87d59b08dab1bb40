#include "tests/tensor/backends_for_test.h"

#include "glog/logging.h"
#include "tensor/cuda/cuda_backend.h"
#include "tests/tensor/cuda_options_for_test.h"
#include "tests/tensor/require_device.h"

namespace ps {

std::vector<std::string> BackendNamesForTest() {
  return {"cpu", "cpu_3_threads", "cuda"};
}

absl::StatusOr<std::unique_ptr<Backend>> NewBackendForTest(
    const std::string& name) {
  if (name == "cuda") {
#ifdef PS_HAVE_CUDA
    return NewCudaBackend(CudaOptionsForTest());
#else
    return absl::UnavailableError("built without CUDA");
#endif
  }
  CpuBackendOptions cpu;
  cpu.num_threads = name == "cpu" ? 1 : 3;
  return NewCpuBackend(cpu);
}

void BackendTest::SetUp() {
  if (GetParam() == "cuda") PS_REQUIRE_DEVICE();
  auto backend = NewBackendForTest(GetParam());
  ASSERT_TRUE(backend.ok()) << backend.status();
  backend_ = *std::move(backend);
}

Tensor BackendTest::Put(const std::vector<float>& values) {
  auto tensor = backend_->Allocate({static_cast<int64_t>(values.size())});
  CHECK(tensor.ok()) << tensor.status();
  const absl::Status status = backend_->CopyFromHost(values.data(), &*tensor);
  CHECK(status.ok()) << status;
  return *std::move(tensor);
}

const float* BackendTest::In(const std::vector<float>& values) {
  constexpr size_t kKept = 10;
  if (inputs_.size() == kKept) inputs_.pop_front();
  inputs_.push_back(Put(values));
  return inputs_.back().data();
}

std::vector<float> BackendTest::Get(const Tensor& tensor) {
  std::vector<float> values(tensor.size());
  const absl::Status status = backend_->CopyToHost(tensor, values.data());
  CHECK(status.ok()) << status;
  return values;
}

}  // namespace ps
