// Shared by tests of random selection on a device.
#ifndef TESTS_COMPRESSORS_CUDA_RANDOM_K_TEST_H_
#define TESTS_COMPRESSORS_CUDA_RANDOM_K_TEST_H_

#include <cstdint>
#include <memory>

#include "compressors/cuda/device_random_k.h"
#include "tests/compressors/cuda/device_vectors.h"

namespace ps {

class RandomKOnDeviceTest : public DeviceVectorsTest {
 protected:
  void SetUp() override;

  // Expects that the device takes the k of n elements that DrawSubset draws.
  void ExpectSubset(int64_t n, int64_t k, uint64_t key);

  std::unique_ptr<DeviceRandomK> random_k_;
};

}  // namespace ps

#endif  // TESTS_COMPRESSORS_CUDA_RANDOM_K_TEST_H_
