// Shared by tests of thresholds on a device.
#ifndef TESTS_COMPRESSORS_CUDA_THRESHOLD_TEST_H_
#define TESTS_COMPRESSORS_CUDA_THRESHOLD_TEST_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "compressors/cuda/device_threshold.h"
#include "tests/compressors/cuda/device_vectors.h"

namespace ps {

struct ThresholdCase {
  std::string name;
  ThresholdRule rule;  // Without k.
};

// Every kind of search, with options that lead to many trials and to few.
std::vector<ThresholdCase> ThresholdCases();

class ThresholdOnDeviceTest : public DeviceVectorsTest {
 protected:
  static constexpr int64_t kCapacity = 3000;

  void SetUp() override;

  // Expects that the device finds and selects the same as a plain search on the
  // host.
  void ExpectSame(const std::vector<float>& residual,
                  const std::vector<float>& gradient, const ThresholdRule& rule,
                  float keep_above = std::numeric_limits<float>::infinity());

  // The same with the threshold of a sample.
  void ExpectSameSample(const std::vector<float>& residual,
                        const std::vector<float>& gradient,
                        const SampleRule& sample);

  std::unique_ptr<DeviceThreshold> threshold_;
  // Over all expectations: selections that fit the space, and others.
  int num_in_room_ = 0;
  int num_too_many_ = 0;

 private:
  void ExpectSelected(const std::vector<float>& residual,
                      const std::vector<float>& gradient,
                      DeviceThresholdRequest request, float threshold);
};

}  // namespace ps

#endif  // TESTS_COMPRESSORS_CUDA_THRESHOLD_TEST_H_
