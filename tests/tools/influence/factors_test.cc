#include "tools/influence/factors.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tools/influence/sums.h"

namespace ps {
namespace {

using Floats = std::vector<float>;

TEST(Factors, ProductIsThatOfTheOuterProducts) {
  const Floats error_a = {0.5f, -0.75f, 0.25f};
  const Floats error_b = {-0.5f, 0.25f, 0.25f};
  const Floats activation_a = {1, 2, -1, 0, 3, 0.5f, 1, 2, 4};
  const Floats activation_b = {2, -1, 0.5f, 1, 1, 1, 0, 2, -1};
  double weight = 0, bias = 0;
  for (size_t o = 0; o < error_a.size(); ++o) {
    for (size_t i = 0; i < activation_a.size(); ++i) {
      weight += error_a[o] * activation_a[i] * error_b[o] * activation_b[i];
    }
    bias += error_a[o] * error_b[o];
  }
  const Factors a = {error_a, activation_a}, b = {error_b, activation_b};
  EXPECT_DOUBLE_EQ(FactoredProduct(a, b, /*with_bias=*/false), weight);
  EXPECT_DOUBLE_EQ(FactoredProduct(a, b, /*with_bias=*/true), weight + bias);
  EXPECT_NE(bias, 0);
  EXPECT_EQ(FactoredProduct(a, b, true), FactoredProduct(b, a, true));
}

// A loss that is c times as large has factors e that are, and scores that are
// c^2 times as large.
TEST(Factors, ProductGrowsWithTheSquareOfTheLoss) {
  const Floats error = {0.5f, -0.5f}, activation = {3, 4};
  const Floats scaled = {1.5f, -1.5f};
  EXPECT_DOUBLE_EQ(
      FactoredProduct({scaled, activation}, {scaled, activation}, true),
      9 * FactoredProduct({error, activation}, {error, activation}, true));
}

TEST(Factors, SoftmaxLossAndItsGradient) {
  const Floats logits = {1, 3, -2};
  const double sum = std::exp(1) + std::exp(3) + std::exp(-2);
  const ClassLoss loss = SoftmaxLoss(logits, 0);
  EXPECT_NEAR(loss.loss, std::log(sum) - 1, 1e-12);
  EXPECT_EQ(loss.predicted, 1);
  EXPECT_FLOAT_EQ(loss.error[0], std::exp(1) / sum - 1);
  EXPECT_FLOAT_EQ(loss.error[1], std::exp(3) / sum);
  EXPECT_FLOAT_EQ(loss.error[2], std::exp(-2) / sum);
  // Neither overflows nor loses the difference from 1.
  const ClassLoss sure = SoftmaxLoss(Floats{1000, 970}, 0);
  EXPECT_NEAR(sure.error[0] / -std::exp(-30), 1, 1e-6);
  EXPECT_NEAR(SoftmaxLoss(Floats{1000, 970}, 1).loss, 30, 1e-9);
}

ExampleScores Scores(double product, double self, double loss) {
  ExampleScores scores;
  scores.labels = scores.predicted = {1};
  scores.losses = {loss};
  scores.self = {self};
  scores.products = {product};
  return scores;
}

// The aggregation trap: at two checkpoints e . e' has opposite signs, and
// a . a' has other sizes. The product of the sums has even the wrong sign.
TEST(InfluenceSums, AddProductsOfEachCheckpointAndNotFactors) {
  const double errors[] = {0.5, -0.25};
  const double activations[] = {1, 7};
  const double rates[] = {0.1, 0.1};
  InfluenceSums sums(1, 1);
  double error_sum = 0, activation_sum = 0, expected = 0;
  for (int i = 0; i < 2; ++i) {
    const Floats error_a = {static_cast<float>(errors[i])}, error_b = {1};
    const Floats a = {static_cast<float>(activations[i])}, b = {1};
    sums.Add(0, rates[i],
             Scores(FactoredProduct({error_a, a}, {error_b, b}, false), 1, 1));
    expected += rates[i] * errors[i] * activations[i];
    error_sum += errors[i];
    activation_sum += activations[i];
  }
  EXPECT_DOUBLE_EQ(sums.OnQuery(0)[0], expected);
  EXPECT_LT(expected, 0);
  EXPECT_GT(error_sum * activation_sum, 0);
}

TEST(InfluenceSums, WeighCheckpointsByTheirLearningRates) {
  InfluenceSums sums(2, 1);
  sums.Add(0, 0.5, Scores(2, 3, 0.7));
  sums.Add(1, 0.5, Scores(-1, 1, 0.6));
  sums.Add(0, 0.25, Scores(-2, 5, 0.2));
  sums.Add(1, 0.25, Scores(1, 1, 0.1));
  EXPECT_EQ(sums.OnQuery(0), (std::vector<double>{0.5, -0.25}));
  EXPECT_EQ(sums.self(), (std::vector<double>{2.75, 0.75}));
  EXPECT_EQ(sums.last_losses(), (std::vector<double>{0.2, 0.1}));
  EXPECT_EQ(sums.loss_sums(), (std::vector<double>{0.7 + 0.2, 0.6 + 0.1}));
}

}  // namespace
}  // namespace ps
