#include "worker/layer_parallel/block_filter.h"

#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"
#include "worker/layer_parallel/auxiliary_steps.h"

namespace ps {
namespace {

BlockFilter Filter(int64_t extent) {
  BlockFilter filter;
  filter.extent = extent;
  filter.planes = 3;
  filter.height = 6;
  filter.width = 12;
  return filter;
}

std::vector<double> Random(int64_t size, uint64_t key) {
  RandomStream random(key);
  std::vector<double> values(size);
  for (double& x : values) x = random.Uniform(-1, 1);
  return values;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

TEST(BlockFilter, MeanUndoesRepeatAndIsItsAdjointUpToTheBlockSize) {
  for (const int64_t extent : {1, 2, 3}) {
    const BlockFilter filter = Filter(extent);
    const std::vector<double> q = Random(filter.filtered_size(), 1);
    const std::vector<double> z = Random(filter.full_size(), 2);
    std::vector<double> full(filter.full_size());
    std::vector<double> mean(filter.filtered_size());
    filter.Repeat(q.data(), full.data());
    filter.Mean(full.data(), mean.data());
    for (size_t i = 0; i < q.size(); ++i) EXPECT_NEAR(mean[i], q[i], 1e-15);
    filter.Mean(z.data(), mean.data());
    EXPECT_NEAR(Dot(full, z),
                static_cast<double>(extent * extent) * Dot(q, mean), 1e-12);
  }
}

TEST(BlockFilter, ExtentOneChangesNothing) {
  const BlockFilter filter = Filter(1);
  const std::vector<double> z = Random(filter.full_size(), 3);
  std::vector<double> copy(z.size());
  filter.Mean(z.data(), copy.data());
  EXPECT_EQ(copy, z);
  filter.Repeat(z.data(), copy.data());
  EXPECT_EQ(copy, z);
}

TEST(BlockFilter, MeansAreOfBlocks) {
  BlockFilter filter;
  filter.extent = 2;
  filter.planes = 1;
  filter.height = 2;
  filter.width = 4;
  const std::vector<float> full = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> mean(2);
  filter.Mean(full.data(), mean.data());
  EXPECT_EQ(mean, std::vector<float>({3.5, 5.5}));
}

// The penalty extent^2 b / 2 |v - D x|^2, of x and of v.
TEST(BlockFilter, GradientsAreDifferencesOfTheFilteredPenalty) {
  const BlockFilter filter = Filter(2);
  constexpr double kPenalty = 3;
  constexpr double kDifference = 1e-5;
  std::vector<double> x = Random(filter.full_size(), 4);
  std::vector<double> v = Random(filter.filtered_size(), 5);
  const std::vector<double> p = Random(filter.full_size(), 6);
  const auto mean = [&](const std::vector<double>& full) {
    std::vector<double> values(filter.filtered_size());
    filter.Mean(full.data(), values.data());
    return values;
  };
  // The stage behind contributes <p, U v>, whose gradient at its start is p.
  const auto loss = [&] {
    const std::vector<double> ends = mean(x);
    double squares = 0;
    for (size_t i = 0; i < v.size(); ++i) {
      squares += (v[i] - ends[i]) * (v[i] - ends[i]);
    }
    std::vector<double> start(filter.full_size());
    filter.Repeat(v.data(), start.data());
    return 4 * kPenalty / 2 * squares + Dot(p, start);
  };
  const auto difference = [&](double* value) {
    const double at = *value;
    *value = at + kDifference;
    const double above = loss();
    *value = at - kDifference;
    const double below = loss();
    *value = at;
    return (above - below) / (2 * kDifference);
  };
  const std::vector<double> ends = mean(x);
  std::vector<double> filtered(v.size());
  EndGradient(filter.filtered_size(), kPenalty, ends.data(), v.data(),
              filtered.data());
  std::vector<double> end_gradient(x.size());
  filter.Repeat(filtered.data(), end_gradient.data());
  for (size_t i = 0; i < x.size(); i += 7) {
    EXPECT_NEAR(end_gradient[i], difference(&x[i]), 1e-7);
  }
  CutValues<double> cut;
  cut.size = filter.filtered_size();
  cut.variables = v.data();
  cut.penalty = kPenalty;
  const std::vector<double> start_gradient = mean(p);
  for (size_t i = 0; i < v.size(); i += 5) {
    EXPECT_NEAR(4 * VariableGradient(cut, ends.data(), start_gradient.data(),
                                     static_cast<int64_t>(i)),
                difference(&v[i]), 1e-7);
  }
}

}  // namespace
}  // namespace ps
