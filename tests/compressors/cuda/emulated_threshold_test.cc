// Tests of thresholds that need an emulated device.

#ifdef PS_HAVE_CUDA

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/compressors/cuda/threshold_test.h"
#include "tests/compressors/vectors.h"
#include "tests/ptx/device.h"

namespace ps {
namespace {

class EmulatedThresholdTest : public ThresholdOnDeviceTest {
 protected:
  void TearDown() override {
    ptx::SetOrder(ptx::Order::kForward);
    ptx::FailCallsAfter(-1, cudaSuccess);
  }
};

TEST_F(EmulatedThresholdTest, NoThreadOrBlockDependsOnAnothersPlace) {
  const int64_t n = 4 * 65536 + 77;
  const std::vector<float> residual(n);
  for (const ptx::Order order :
       {ptx::Order::kBackward, ptx::Order::kShuffled}) {
    ptx::SetOrder(order);
    for (const std::string name : {"laplace", "constant"}) {
      SCOPED_TRACE(name);
      const std::vector<float> gradient = MakeVector(name, n, 5);
      for (const ThresholdCase& each : ThresholdCases()) {
        SCOPED_TRACE(each.name);
        ThresholdRule rule = each.rule;
        rule.k = 1000;
        ASSERT_NO_FATAL_FAILURE(ExpectSame(residual, gradient, rule, 3.0f));
      }
      for (const int64_t size : {3000, 150000}) {
        SampleRule sample;
        sample.key = 9;
        sample.size = size;
        sample.k = size / 100;
        ASSERT_NO_FATAL_FAILURE(ExpectSameSample(residual, gradient, sample));
      }
    }
  }
}

TEST_F(EmulatedThresholdTest, EveryErrorOfTheDeviceReachesTheCaller) {
  const Tensor residual = Put(std::vector<float>(1000));
  const Tensor gradient = Put(MakeVector("laplace", 1000, 1));
  Tensor u = Put(std::vector<float>(1000));
  DeviceThresholdRequest request;
  request.residual = residual.data();
  request.gradient = gradient.data();
  request.u = u.data();
  request.n = 1000;
  request.capacity = 1000;
  int calls = 0;
  for (;; ++calls) {
    ptx::FailCallsAfter(calls, cudaErrorIllegalAddress);
    DeviceThresholdResult result;
    const absl::Status status = threshold_->Run(request, &result);
    ptx::FailCallsAfter(-1, cudaSuccess);
    if (status.ok()) break;
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    EXPECT_TRUE(absl::StartsWith(status.message(), "cuda") ||
                absl::StartsWith(status.message(), "Launch"))
        << status;
  }
  EXPECT_GT(calls, 3);
}

}  // namespace
}  // namespace ps

#endif  // PS_HAVE_CUDA
