// Tests of random selection that need an emulated device.

#ifdef PS_HAVE_CUDA

#include "tests/compressors/cuda/random_k_test.h"
#include "tests/ptx/device.h"

namespace ps {
namespace {

class EmulatedRandomKTest : public RandomKOnDeviceTest {
 protected:
  void TearDown() override {
    ptx::SetOrder(ptx::Order::kForward);
    ptx::FailCallsAfter(-1, cudaSuccess);
  }
};

TEST_F(EmulatedRandomKTest, NoThreadOrBlockDependsOnAnothersPlace) {
  for (const ptx::Order order :
       {ptx::Order::kBackward, ptx::Order::kShuffled}) {
    ptx::SetOrder(order);
    for (const int64_t k : {300, 30000, 200000}) {
      SCOPED_TRACE(k);
      ASSERT_NO_FATAL_FAILURE(ExpectSubset(4 * 65536 + 77, k, 5));
    }
  }
}

TEST_F(EmulatedRandomKTest, EveryErrorOfTheDeviceReachesTheCaller) {
  const Tensor residual = Put(std::vector<float>(1000));
  Tensor u = Put(std::vector<float>(1000));
  DeviceRandomKRequest request;
  request.residual = residual.data();
  request.gradient = residual.data();
  request.u = u.data();
  request.n = 1000;
  request.k = 10;
  int calls = 0;
  for (;; ++calls) {
    ptx::FailCallsAfter(calls, cudaErrorIllegalAddress);
    DeviceRandomKResult result;
    const absl::Status status = random_k_->Run(request, &result);
    ptx::FailCallsAfter(-1, cudaSuccess);
    if (status.ok()) break;
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  }
  EXPECT_GT(calls, 3);
}

}  // namespace
}  // namespace ps

#endif  // PS_HAVE_CUDA
