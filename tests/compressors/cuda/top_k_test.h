// Shared by tests of the largest magnitudes on a device.
#ifndef TESTS_COMPRESSORS_CUDA_TOP_K_TEST_H_
#define TESTS_COMPRESSORS_CUDA_TOP_K_TEST_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "compressors/cuda/device_top_k.h"
#include "tests/compressors/cuda/device_vectors.h"

namespace ps {

class TopKOnDeviceTest : public DeviceVectorsTest {
 protected:
  void SetUp() override;

  // Expects that the k largest of residual + gradient, or of the gradient alone
  // if there is no residual, are those of a full sort on the host.
  void ExpectLargest(const std::vector<float>& residual,
                     const std::vector<float>& gradient, int64_t k,
                     float keep_above = std::numeric_limits<float>::infinity());

  std::unique_ptr<DeviceTopK> top_k_;
};

}  // namespace ps

#endif  // TESTS_COMPRESSORS_CUDA_TOP_K_TEST_H_
