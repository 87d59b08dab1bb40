// Shared by the tests of searches on any device and of those that need an
// emulated one.
#ifndef TESTS_COMPRESSORS_CUDA_SEARCHES_TEST_H_
#define TESTS_COMPRESSORS_CUDA_SEARCHES_TEST_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "compressors/cuda/device_search.h"
#include "tests/compressors/cuda/device_vectors.h"

namespace ps {

// Each Expect... compares with a plain search on the host.
class SearchesOnDeviceTest : public DeviceVectorsTest {
 protected:
  static constexpr int64_t kCapacity = 3000;

  // The k largest of residual + gradient, or of the gradient alone if there is
  // no residual.
  void ExpectLargest(const std::vector<float>& residual,
                     const std::vector<float>& gradient, int64_t k,
                     float keep_above = std::numeric_limits<float>::infinity());

  void ExpectSubset(int64_t n, int64_t k, uint64_t key);

  // What a rule selects. With rounding, the threshold may differ in the last
  // bits from one whose sums are added in another order, and what is selected
  // is what is above the device's.
  void ExpectAbove(const std::vector<float>& residual,
                   const std::vector<float>& gradient,
                   const ThresholdRule& rule,
                   float keep_above = std::numeric_limits<float>::infinity());
  void ExpectAboveSample(const std::vector<float>& residual,
                         const std::vector<float>& gradient,
                         const SampleRule& sample);

 private:
  void ExpectAboveThreshold(const std::vector<float>& residual,
                            const std::vector<float>& gradient,
                            DeviceThresholdRequest request, float threshold);
};

// Rules to try; k is not set.
struct ThresholdCase {
  std::string name;
  ThresholdRule rule;
};
std::vector<ThresholdCase> ThresholdCases();

// A vector of few different magnitudes: thousands of each.
std::vector<float> WithTies(int64_t n, uint64_t seed);

}  // namespace ps

#endif  // TESTS_COMPRESSORS_CUDA_SEARCHES_TEST_H_
