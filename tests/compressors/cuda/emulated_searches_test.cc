// Tests of searches that need an emulated device.

#ifdef PS_HAVE_CUDA

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/compressors/cuda/searches_test.h"
#include "tests/compressors/cuda/sidco_test.h"
#include "tests/compressors/vectors.h"
#include "tests/ptx/device.h"

namespace ps {
namespace {

constexpr ptx::Order kOrders[] = {ptx::Order::kForward, ptx::Order::kBackward,
                                  ptx::Order::kShuffled};

class EmulatedSearchesTest : public SearchesOnDeviceTest {
 protected:
  void TearDown() override {
    ptx::SetOrder(ptx::Order::kForward);
    ptx::FailCallsAfter(-1, cudaSuccess);
  }

  // Expects that each failing call of a search ends it, and is named.
  template <class Request>
  void ExpectErrors(const Request& request) {
    const std::vector<float> gradient = MakeVector("laplace", 1000, 1);
    const std::vector<float> residual(1000);
    typename Request::Result result;
    // Allocates.
    ASSERT_TRUE(Run(residual, gradient, request, &result).ok());
    Request again = request;
    const Tensor device_residual = Put(residual);
    const Tensor device_gradient = Put(gradient);
    Tensor u = Put(residual);
    again.sum = {device_residual.data(), device_gradient.data(), u.data(),
                 1000};
    int calls = 0;
    for (;; ++calls) {
      ptx::FailCallsAfter(calls, cudaErrorIllegalAddress);
      const absl::Status status = Searching<Request>().Run(again, &result);
      ptx::FailCallsAfter(-1, cudaSuccess);
      if (status.ok()) break;
      EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
      EXPECT_TRUE(absl::StartsWith(status.message(), "cuda")) << status;
    }
    EXPECT_GT(calls, 3);
  }
};

TEST_F(EmulatedSearchesTest, NoThreadOrBlockDependsOnAnothersPlace) {
  const int64_t n = 4 * 8192 + 77;
  const std::vector<float> residual(n);
  for (const ptx::Order order : kOrders) {
    ptx::SetOrder(order);
    for (const std::string name : {"laplace", "constant", "sparse"}) {
      SCOPED_TRACE(name);
      const std::vector<float> gradient = MakeVector(name, n, 5);
      for (const int64_t k : {300, 3000, 20000}) {
        SCOPED_TRACE(k);
        ASSERT_NO_FATAL_FAILURE(ExpectLargest({}, gradient, k));
        ASSERT_NO_FATAL_FAILURE(ExpectLargest(residual, gradient, k, 3.0f));
        ASSERT_NO_FATAL_FAILURE(ExpectSubset(n, k, 5));
        SampleRule sample;
        sample.key = 9;
        sample.size = k;
        sample.k = k / 100;
        ASSERT_NO_FATAL_FAILURE(ExpectAboveSample(residual, gradient, sample));
      }
      for (const ThresholdCase& each : ThresholdCases()) {
        SCOPED_TRACE(each.name);
        ThresholdRule rule = each.rule;
        rule.k = 1000;
        ASSERT_NO_FATAL_FAILURE(ExpectAbove(residual, gradient, rule, 3.0f));
      }
    }
  }
}

TEST_F(EmulatedSearchesTest, EveryErrorOfTheDeviceReachesTheCaller) {
  DeviceTopKRequest top_k;
  top_k.k = 10;
  ExpectErrors(top_k);
  DeviceRandomKRequest random_k;
  random_k.k = 10;
  ExpectErrors(random_k);
  DeviceThresholdRequest threshold;
  threshold.capacity = 1000;
  ExpectErrors(threshold);
  DeviceSidcoRequest sidco;
  sidco.estimate.target = 10;
  sidco.capacity = 1000;
  ExpectErrors(sidco);
}

class EmulatedSidcoTest : public SidcoOnDeviceTest {
 protected:
  void TearDown() override { ptx::SetOrder(ptx::Order::kForward); }
};

TEST_F(EmulatedSidcoTest, MakesTheCpusEstimatesInAnyOrderOfThreads) {
  for (const ptx::Order order :
       {ptx::Order::kBackward, ptx::Order::kShuffled}) {
    ptx::SetOrder(order);
    for (const SidcoVariant& variant : AllSidcoVariants()) {
      for (const std::string name : {"heavy", "sparse", "constant"}) {
        for (const int64_t n : {1000, 32769}) {
          SCOPED_TRACE(testing::Message() << name << " of " << n);
          ASSERT_NO_FATAL_FAILURE(ExpectTheCpus(name, n, 0.01, variant));
        }
      }
    }
  }
}

// The same bits whatever runs first, in every sum.
TEST_F(EmulatedSidcoTest, HasTheSameBitsInAnyOrder) {
  const int64_t n = 50001;
  const std::vector<float> residual = MakeVector("laplace", n, 1);
  const std::vector<float> gradient = MakeVector("heavy", n, 2);
  for (const SidcoVariant& variant : AllSidcoVariants()) {
    std::vector<DeviceSidcoResult> results;
    std::vector<std::vector<uint32_t>> indices;
    for (const ptx::Order order : kOrders) {
      ptx::SetOrder(order);
      results.push_back(Estimate(variant, 0.01, residual, gradient, Before()));
      ASSERT_EQ(results.back().outcome, SidcoOutcome::kEstimated);
      indices.emplace_back();
      if (const DeviceSelection* const selection = results.back().selection;
          selection != nullptr) {
        indices.back().assign(selection->indices.begin(),
                              selection->indices.end());
      }
      EXPECT_EQ(results.back().estimate.threshold,
                results[0].estimate.threshold);
      EXPECT_EQ(results.back().moments.sum, results[0].moments.sum);
      EXPECT_EQ(results.back().moments.sum_squares,
                results[0].moments.sum_squares);
      EXPECT_EQ(results.back().num_selected, results[0].num_selected);
      EXPECT_EQ(indices.back(), indices[0]);
    }
  }
}

}  // namespace
}  // namespace ps

#endif  // PS_HAVE_CUDA
