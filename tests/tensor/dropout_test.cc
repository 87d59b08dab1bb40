// Dropout: what it keeps, how often, and that Backward keeps the same elements.

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/every_backend.h"

namespace ps {
namespace {

using Dropout = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, Dropout, testing::ValuesIn(BackendNames()),
                         BackendTestName);

constexpr double kProbability = 0.3;
constexpr int64_t kElements = 200003;  // Several chunks, and a remainder.

std::vector<float> DropOut(const std::unique_ptr<Backend>& backend,
                           uint64_t key, double probability = kProbability) {
  const auto op = backend->nn().PlanDropout(
      probability, ActivationDesc::Plain({1, kElements}));
  EXPECT_TRUE(op.ok()) << op.status();
  std::vector<float> x(kElements, 1), y(kElements), dx(kElements, 1);
  EXPECT_TRUE((*op)->Forward(key, x.data(), y.data()).ok());
  // Works in place, and drops the same elements.
  EXPECT_TRUE((*op)->Backward(dx.data(), dx.data()).ok());
  EXPECT_EQ(dx, y);
  return y;
}

TEST_P(Dropout, ElementsAreDroppedOrScaledUp) {
  const std::vector<float> y = DropOut(NewBackend(), 5);
  const float scaled = static_cast<float>(1 / (1 - kProbability));
  int64_t dropped = 0, both = 0;
  for (int64_t i = 0; i < kElements; ++i) {
    ASSERT_TRUE(y[i] == 0 || y[i] == scaled) << "element " << i;
    if (y[i] != 0) continue;
    ++dropped;
    if (i > 0 && y[i - 1] == 0) ++both;
  }
  // Within five standard deviations; neighbours are independent.
  const double n = static_cast<double>(kElements);
  const double deviation = std::sqrt(kProbability * (1 - kProbability) / n);
  EXPECT_NEAR(dropped / n, kProbability, 5 * deviation);
  EXPECT_NEAR(both / n, kProbability * kProbability, 5 * deviation);
}

TEST_P(Dropout, TheKeyAloneDecidesWhatIsDropped) {
  const std::vector<float> y = DropOut(NewBackend(), 5);
  EXPECT_EQ(DropOut(NewBackend(), 5), y);
  EXPECT_EQ(DropOut(NewBackend(2), 5), y);
  const std::vector<float> other = DropOut(NewBackend(), 6);
  int64_t both = 0;
  for (int64_t i = 0; i < kElements; ++i) both += y[i] == 0 && other[i] == 0;
  EXPECT_NEAR(static_cast<double>(both) / static_cast<double>(kElements),
              kProbability * kProbability, 0.005);
}

TEST_P(Dropout, DropsTheSameElementsOnEveryBackend) {
  EXPECT_EQ(DropOut(NewBackend(), 5), DropOut(CpuBackendForTest(), 5));
}

TEST_P(Dropout, ProbabilityZeroChangesNothing) {
  EXPECT_EQ(DropOut(NewBackend(), 5, 0), std::vector<float>(kElements, 1));
}

TEST_P(Dropout, ProbabilitiesThatLeaveNothingAreRefused) {
  const std::unique_ptr<Backend> backend = NewBackend();
  for (const double probability : {-0.1, 1.0, std::nan("")}) {
    EXPECT_EQ(backend->nn()
                  .PlanDropout(probability, ActivationDesc::Plain({2, 3}))
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace ps
