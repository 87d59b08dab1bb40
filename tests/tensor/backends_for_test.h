// Every kind of backend, for tests that run on all of them.
#ifndef TESTS_TENSOR_BACKENDS_FOR_TEST_H_
#define TESTS_TENSOR_BACKENDS_FOR_TEST_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "tensor/backend.h"

namespace ps {

// "cpu", "cpu_3_threads" and "cuda". The last is only for compressors.
std::vector<std::string> BackendNamesForTest();

// Errors: kUnavailable if there is no such device.
absl::StatusOr<std::unique_ptr<Backend>> NewBackendForTest(
    const std::string& name);

// A test that runs on every backend; it is skipped for a backend that is not
// available.
class BackendTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;

  Backend* backend() { return backend_.get(); }
  SparseKernels& kernels() { return backend_->sparse(); }

  // Copies a vector to the backend's memory, and back.
  Tensor Put(const std::vector<float>& values);
  std::vector<float> Get(const Tensor& tensor);

  // A copy in the backend's memory, for kernels that read it. It is valid until
  // about ten others have been made.
  const float* In(const std::vector<float>& values);

 private:
  std::unique_ptr<Backend> backend_;
  std::deque<Tensor> inputs_;
};

#define INSTANTIATE_OVER_BACKENDS(Test)                         \
  INSTANTIATE_TEST_SUITE_P(                                     \
      Backends, Test, testing::ValuesIn(BackendNamesForTest()), \
      [](const testing::TestParamInfo<std::string>& info) {     \
        return info.param;                                      \
      })

}  // namespace ps

#endif  // TESTS_TENSOR_BACKENDS_FOR_TEST_H_
