// The backends that tests of operations run on.
#ifndef TESTS_TENSOR_EVERY_BACKEND_H_
#define TESTS_TENSOR_EVERY_BACKEND_H_

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "tensor/backend.h"

namespace ps {

// cpu, and the layers of CUDA: with cuDNN, and without. The device is the
// machine's, or emulated in programs that link
// tests/tensor/cuda:emulated_layers.
std::vector<std::string> BackendNames();

// Whether the backend of this name is on a device: see PS_REQUIRE_DEVICE.
bool NeedsDevice(const std::string& name);

// One of these backends, or "cuda_cudnn_recurrent", on a device with cuDNN's
// recurrent layers; for CUDA also with the suffix "_bf16", whose layers compute
// with bfloat16. Their operations take host memory (staged_backend.h).
absl::StatusOr<std::unique_ptr<Backend>> NewBackendForTest(
    const std::string& name, int num_threads = 1);

// The same with the device's own memory, for tests that copy; not for "cpu".
absl::StatusOr<std::unique_ptr<Backend>> NewDeviceBackendForTest(
    const std::string& name);

// A name for an instance of a test.
inline std::string BackendTestName(
    const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

// The common parts of tests that run on backends.
class BackendFixture {
 protected:
  ~BackendFixture() = default;

  // To be called in SetUp: skips or fails the test if there is no such backend.
  void UseBackend(const std::string& name);

  const std::string& backend_name() const { return name_; }
  std::unique_ptr<Backend> NewBackend(int num_threads = 1) const;

 private:
  std::string name_;
};

// A TEST_P of this class, instantiated with BackendNames(), runs on each of
// them.
class EveryBackend : public testing::TestWithParam<std::string>,
                     public BackendFixture {
 protected:
  void SetUp() override { UseBackend(GetParam()); }
};

// The same for tests that have cases.
template <typename Case>
class EveryBackendAndCase
    : public testing::TestWithParam<std::tuple<std::string, Case>>,
      public BackendFixture {
 protected:
  void SetUp() override { UseBackend(std::get<0>(this->GetParam())); }
  const Case& GetCase() const { return std::get<1>(this->GetParam()); }
};

}  // namespace ps

#endif  // TESTS_TENSOR_EVERY_BACKEND_H_
