// Shared by the tests of SIDCo on any device and of those that need an emulated
// one.
#ifndef TESTS_COMPRESSORS_CUDA_SIDCO_TEST_H_
#define TESTS_COMPRESSORS_CUDA_SIDCO_TEST_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "compressors/cuda/device_sidco.h"
#include "tests/compressors/cuda/device_vectors.h"

namespace ps {

struct SidcoVariant {
  TailLaw law = TailLaw::kExponential;
  int stages = 1;
  bool count_correction = false;
  bool exclude_zeros = false;
  int refine_steps = 0;
};

std::vector<SidcoVariant> AllSidcoVariants();

class SidcoOnDeviceTest : public DeviceVectorsTest {
 protected:
  // The maximum number of elements left on the device.
  static constexpr int64_t kCapacity = 1000;

  // What the device and the CPU keep from previous vectors.
  struct Before {
    float warm_location = std::numeric_limits<float>::infinity();
    float keep_above = std::numeric_limits<float>::infinity();
    std::vector<double> steps;
    double refine_reach = 1;
  };

  DeviceSidcoResult Estimate(const SidcoVariant& variant, double ratio,
                             const std::vector<float>& residual,
                             const std::vector<float>& gradient,
                             const Before& before);

  // Expects the CPU's estimates for five vectors in a row; the later ones use
  // warm starts where possible. A name of one letter is a golden vector's.
  void ExpectTheCpus(const std::string& name, int64_t n, double ratio,
                     const SidcoVariant& variant);

  // How estimates began.
  int num_warm_ = 0;
  int num_cold_ = 0;
  int num_failed_ = 0;  // Warm starts that became cold.
};

}  // namespace ps

#endif  // TESTS_COMPRESSORS_CUDA_SIDCO_TEST_H_
