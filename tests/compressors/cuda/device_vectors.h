// Vectors on a device, for tests of the device compressors.
#ifndef TESTS_COMPRESSORS_CUDA_DEVICE_VECTORS_H_
#define TESTS_COMPRESSORS_CUDA_DEVICE_VECTORS_H_

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/backend.h"
#include "tensor/device_selection.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// A test that is skipped where there is no CUDA device.
class DeviceVectorsTest : public testing::Test {
 protected:
  void SetUp() override;

  Tensor Put(const std::vector<float>& values);
  std::vector<float> Get(const Tensor& tensor);
  Selection Get(const DeviceSelection& selection);

  std::unique_ptr<Backend> backend_;  // Null where the test is skipped.
};

// residual + gradient; the gradient alone if there is no residual.
std::vector<float> AddUp(const std::vector<float>& residual,
                         const std::vector<float>& gradient);

}  // namespace ps

#endif  // TESTS_COMPRESSORS_CUDA_DEVICE_VECTORS_H_
