// Tests of the largest magnitudes that need an emulated device.

#ifdef PS_HAVE_CUDA

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/compressors/cuda/top_k_test.h"
#include "tests/compressors/vectors.h"
#include "tests/ptx/device.h"

namespace ps {
namespace {

class EmulatedTopKTest : public TopKOnDeviceTest {
 protected:
  void TearDown() override {
    ptx::SetOrder(ptx::Order::kForward);
    ptx::FailCallsAfter(-1, cudaSuccess);
  }
};

TEST_F(EmulatedTopKTest, NoThreadOrBlockDependsOnAnothersPlace) {
  const int64_t n = 4 * 65536 + 77;
  for (const ptx::Order order :
       {ptx::Order::kBackward, ptx::Order::kShuffled}) {
    ptx::SetOrder(order);
    for (const std::string name : {"laplace", "constant", "sparse"}) {
      const std::vector<float> u = MakeVector(name, n, 5);
      for (const int64_t k : {300, 30000, 200000}) {
        SCOPED_TRACE(testing::Message() << k << " of " << name);
        ASSERT_NO_FATAL_FAILURE(ExpectLargest({}, u, k));
        ASSERT_NO_FATAL_FAILURE(
            ExpectLargest(std::vector<float>(n), u, k, 3.0f));
      }
    }
  }
}

TEST_F(EmulatedTopKTest, EveryErrorOfTheDeviceReachesTheCaller) {
  Tensor u = Put(MakeVector("laplace", 1000, 1));
  DeviceTopKRequest request;
  request.u = u.data();
  request.n = 1000;
  request.k = 10;
  int calls = 0;
  for (;; ++calls) {
    ptx::FailCallsAfter(calls, cudaErrorIllegalAddress);
    DeviceTopKResult result;
    const absl::Status status = top_k_->Run(request, &result);
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
