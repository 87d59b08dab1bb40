// Refinement against counts by plain loops.
#include "compressors/sidco/refine_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/backend.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr int64_t kSize = 200000;

int64_t CountAbove(const std::vector<float>& u, double threshold) {
  return std::count_if(u.begin(), u.end(), [&](float x) {
    return double{std::fabs(x)} > threshold;
  });
}

// The magnitude that exactly `rank` others exceed.
float MagnitudeAt(std::vector<float> u, int64_t rank) {
  for (float& x : u) x = std::fabs(x);
  std::nth_element(u.begin(), u.begin() + rank, u.end(), std::greater<float>());
  return u[rank];
}

class RefineStepsTest : public testing::Test {
 protected:
  RefineStepsTest()
      : backend_(NewCpuBackend(CpuBackendOptions()).value()),
        sieve_(backend_->sparse().NewSieve()) {}

  // Between a threshold that ten times the target exceed, and one that nothing
  // exceeds.
  RefineRequest Request(const std::vector<float>& u, double target) {
    sieve_->Reset(u.data(), static_cast<int64_t>(u.size()));
    RefineRequest request;
    request.target = target;
    request.max_counts = 8;
    request.low = MagnitudeAt(u, static_cast<int64_t>(10 * target));
    request.low_count = CountAbove(u, request.low);
    return request;
  }

  // Gives no sum where the steps say that a count suffices.
  RefinedThreshold Refine(const RefineRequest& request) {
    RefineSteps steps;
    for (steps.Start(request); !steps.done();) {
      Exceedances exceedances;
      EXPECT_TRUE(sieve_
                      ->MeasureAbove(steps.threshold(), steps.keep_above(),
                                     &exceedances)
                      .ok());
      ++num_counts_;
      if (steps.CountSuffices(exceedances.count)) {
        exceedances.sum = std::numeric_limits<double>::quiet_NaN();
      } else {
        ++num_sums_;
      }
      steps.Next(exceedances);
    }
    return steps.result();
  }

  int num_counts_ = 0;
  int num_sums_ = 0;
  const std::unique_ptr<Backend> backend_;
  const std::unique_ptr<Sieve> sieve_;
};

TEST_F(RefineStepsTest, ComesNearTheTargetFromEitherSideOnEveryLaw) {
  for (const char* law : {"laplace", "gamma 0.5", "GP 0.2", "gaussian"}) {
    const std::vector<float> u = DrawLaw(law, kSize, 1);
    for (const double target : {20.0, 200.0, 2000.5}) {
      for (const double off : {0.1, 0.5, 0.9, 1.1, 2.0, 8.0}) {
        SCOPED_TRACE(testing::Message() << law << ", target " << target
                                        << ", estimate for " << off << " x");
        RefineRequest request = Request(u, target);
        request.threshold = MagnitudeAt(u, static_cast<int64_t>(off * target));
        const RefinedThreshold refined = Refine(request);
        EXPECT_EQ(refined.estimated_count, CountAbove(u, request.threshold));
        EXPECT_NEAR(static_cast<double>(CountAbove(u, refined.threshold)),
                    target, std::max(0.5, 0.05 * target));
        EXPECT_LE(refined.lowest_tried, refined.threshold);
        EXPECT_LE(refined.lowest_tried, request.threshold);
      }
    }
  }
  EXPECT_LT(2 * num_sums_, num_counts_);
}

// Error feedback sends what is large, so the sum falls off steeply above
// earlier thresholds: far from a straight line.
TEST_F(RefineStepsTest, ComesNearTheTargetOnACliff) {
  std::vector<float> u = DrawLaw("laplace", kSize, 2);
  for (float& x : u) {
    if (std::fabs(x) > 2) x = std::copysign(2 + 0.02f * (std::fabs(x) - 2), x);
  }
  for (const double off : {0.01, 0.3, 3.0}) {
    RefineRequest request = Request(u, 200);
    request.threshold = MagnitudeAt(u, static_cast<int64_t>(off * 200));
    EXPECT_NEAR(static_cast<double>(CountAbove(u, Refine(request).threshold)),
                200, 10)
        << off;
  }
}

TEST_F(RefineStepsTest, ComesDownFromAboveTheLargest) {
  const std::vector<float> u = DrawLaw("laplace", kSize, 3);
  RefineRequest request = Request(u, 200);
  request.threshold = 1000;
  const RefinedThreshold refined = Refine(request);
  EXPECT_EQ(refined.estimated_count, 0);
  EXPECT_NEAR(static_cast<double>(CountAbove(u, refined.threshold)), 200, 10);
}

TEST_F(RefineStepsTest, OneCountLeavesTheEstimateAsItIs) {
  const std::vector<float> u = DrawLaw("laplace", kSize, 4);
  RefineRequest request = Request(u, 200);
  request.threshold = MagnitudeAt(u, 700);
  request.max_counts = 1;
  const RefinedThreshold refined = Refine(request);
  EXPECT_EQ(refined.threshold, request.threshold);
  EXPECT_EQ(refined.lowest_tried, request.threshold);
}

TEST_F(RefineStepsTest, ReturnsTheNearestWhereTiesLeaveNoneClose) {
  // 1000 elements are at 2, and 3 above; the target lies between.
  std::vector<float> u(kSize, 0.5f);
  for (int i = 0; i < 1000; ++i) u[99 * i] = 2;
  for (int i = 0; i < 3; ++i) u[i + 1] = 3;
  RefineRequest request;
  request.target = 200;
  request.max_counts = 64;
  request.low = 1;
  request.low_count = 1003;
  request.threshold = 2.5;
  sieve_->Reset(u.data(), kSize);
  const RefinedThreshold refined = Refine(request);
  // ln(1003 / 200) is nearer to 0 than ln(3 / 200).
  EXPECT_EQ(CountAbove(u, refined.threshold), 1003);
}

TEST_F(RefineStepsTest, TheGuessOfTheLowestNeverShows) {
  const std::vector<float> u = DrawLaw("GP 0.2", kSize, 5);
  std::vector<float> thresholds;
  for (const double guess : {0.0, 0.5, 0.99, 1.0, 2.0}) {
    RefineRequest request = Request(u, 150);
    request.threshold = MagnitudeAt(u, 20);
    request.keep_above = static_cast<float>(guess * request.threshold);
    thresholds.push_back(Refine(request).threshold);
  }
  EXPECT_EQ(thresholds, std::vector<float>(thresholds.size(), thresholds[0]));
}

}  // namespace
}  // namespace ps
