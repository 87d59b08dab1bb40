// Tensors that are split over several servers: if the parts' sums of squares
// are added up, any number of servers gives the result of one server.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "optimizers/optimizer.h"
#include "tests/optimizers/optimizer_harness.h"

namespace ps {
namespace {

constexpr int kUpdates = 10;
constexpr uint64_t kSeed = 21;

const std::vector<int64_t>& Sizes() {
  static const auto* const sizes =
      new std::vector<int64_t>{9000, 12, 501, 64, 5000};
  return *sizes;
}
constexpr int64_t kElements = 9000 + 12 + 501 + 64 + 5000;

// One server's part of the flat vector.
struct Part {
  int64_t begin = 0;
  int64_t end = 0;
  std::vector<TensorStretch> stretches;
  std::unique_ptr<Optimizer> optimizer;
};

std::vector<TensorStretch> StretchesOf(int64_t begin, int64_t end) {
  std::vector<TensorStretch> stretches;
  int64_t tensor_begin = 0;
  for (const TensorStretch& whole : WholeTensors(Sizes())) {
    TensorStretch stretch = whole;
    stretch.begin = std::clamp<int64_t>(begin - tensor_begin, 0, whole.end);
    stretch.end = std::clamp<int64_t>(end - tensor_begin, 0, whole.end);
    if (stretch.begin < stretch.end) stretches.push_back(stretch);
    tensor_begin += whole.end;
  }
  return stretches;
}

// A cluster of servers; the first one holds `cuts[0]` elements.
std::vector<Part> Cluster(const OptimizerConfig& config,
                          const std::vector<int64_t>& cuts) {
  std::vector<Part> parts;
  int64_t begin = 0;
  for (const int64_t end : cuts) {
    Part part;
    part.begin = begin;
    part.end = end;
    part.stretches = StretchesOf(begin, end);
    part.optimizer = NewRule(config, part.stretches);
    parts.push_back(std::move(part));
    begin = end;
  }
  return parts;
}

Squares operator+(const Squares& a, const Squares& b) {
  return {a.weights + b.weights, a.gradient + b.gradient, a.step + b.step};
}

// One update by all servers. Without an exchange, each server uses the sums of
// its own parts as totals.
void StepAll(const UpdateInfo& update, const std::vector<float>& gradient,
             bool exchange, std::vector<Part>* parts,
             std::vector<float>* weights) {
  std::vector<std::vector<Squares>> of_parts;
  std::vector<Squares> totals(Sizes().size());
  for (Part& part : *parts) {
    of_parts.push_back(part.optimizer->PartialSquares(
        update, gradient.data() + part.begin, weights->data() + part.begin));
    if (!part.optimizer->layer_wise()) continue;
    ASSERT_EQ(of_parts.back().size(), part.stretches.size());
    for (size_t s = 0; s < part.stretches.size(); ++s) {
      Squares& total = totals[part.stretches[s].tensor];
      total = total + of_parts.back()[s];
    }
  }
  for (size_t p = 0; p < parts->size(); ++p) {
    Part& part = (*parts)[p];
    if (part.optimizer->layer_wise()) {
      std::vector<Squares> mine = of_parts[p];
      for (size_t s = 0; exchange && s < mine.size(); ++s) {
        mine[s] = totals[part.stretches[s].tensor];
      }
      part.optimizer->SetTotals(update, mine);
    }
    part.optimizer->Step(update, 0, part.end - part.begin,
                         gradient.data() + part.begin,
                         weights->data() + part.begin);
  }
}

// Rows of very different scales, with the largest gradients where the weights
// are smallest.
Trajectory UnevenTrajectory() {
  Trajectory trajectory = RandomTrajectory(kElements, kUpdates, kSeed);
  for (int64_t i = 0; i < kElements; ++i) {
    const double place = static_cast<double>(i) / kElements;
    trajectory.weights[i] *= static_cast<float>(std::pow(10, -2 * place));
    for (auto& gradient : trajectory.gradients) {
      gradient[i] *= static_cast<float>(std::pow(10, 3 * place));
    }
  }
  return trajectory;
}

std::vector<float> ClusterWeights(const OptimizerConfig& config,
                                  const std::vector<int64_t>& cuts,
                                  const Trajectory& trajectory, bool exchange) {
  std::vector<Part> parts = Cluster(config, cuts);
  std::vector<float> weights = trajectory.weights;
  for (int t = 0; t < kUpdates; ++t) {
    StepAll(UpdateOf(t), trajectory.gradients[t], exchange, &parts, &weights);
  }
  return weights;
}

// |a - b| / |b - start| over the first tensor.
double RelativeDifference(const std::vector<float>& a,
                          const std::vector<float>& b,
                          const std::vector<float>& start) {
  double difference = 0;
  double displacement = 0;
  for (int64_t i = 0; i < Sizes()[0]; ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    displacement += std::pow(static_cast<double>(b[i]) - start[i], 2);
  }
  return std::sqrt(difference / displacement);
}

const std::vector<std::vector<int64_t>>& Splits() {
  static const auto* const splits =
      new std::vector<std::vector<int64_t>>{{kElements},
                                            {9005, kElements},
                                            {1, 4000, kElements},
                                            {2000, 2001, 9300, kElements},
                                            {3644, 7289, 10933, kElements}};
  return *splits;
}

TEST(SplitTensorsTest, WithTotalsAnySplitIsTheSingleServer) {
  const Trajectory trajectory = UnevenTrajectory();
  for (const OptimizerConfig& config : RuleVariants()) {
    const std::vector<float> single =
        WeightsAfter(config, WholeTensors(Sizes()), trajectory);
    for (const std::vector<int64_t>& cuts : Splits()) {
      const std::vector<float> weights =
          ClusterWeights(config, cuts, trajectory, /*exchange=*/true);
      for (int64_t i = 0; i < kElements; ++i) {
        ASSERT_NEAR(weights[i], single[i], 1e-6 * std::fabs(single[i]) + 1e-9)
            << TextOf(config) << ", " << cuts.size() << " servers, element "
            << i;
      }
      if (!NewRule(config, {})->layer_wise()) {
        EXPECT_EQ(weights, single) << TextOf(config);
      }
    }
  }
}

// Otherwise the test above would prove nothing.
TEST(SplitTensorsTest, WithoutTotalsSplitsGiveSomethingElse) {
  const Trajectory trajectory = UnevenTrajectory();
  for (const char* rule : {"name: 'novograd'", "name: 'lamb'",
                           "name: 'lars' trust_coefficient: 0.1"}) {
    const OptimizerConfig config = OptimizerFrom(rule);
    const std::vector<float> single =
        WeightsAfter(config, WholeTensors(Sizes()), trajectory);
    const std::vector<float> weights =
        ClusterWeights(config, Splits().back(), trajectory, /*exchange=*/false);
    EXPECT_GT(RelativeDifference(weights, single, trajectory.weights), 0.2)
        << rule;
  }
}

// The tensor's gradient is the same everywhere and its slices are equal.
// Divided by its own norm, each slice's step is as long as the whole tensor's
// step should be.
TEST(SplitTensorsTest, NovogradsFirstStepIsSqrtPTimesTooLongWithoutTotals) {
  const OptimizerConfig config = OptimizerFrom("name: 'novograd'");
  for (const int servers : {2, 4, 16}) {
    const std::vector<float> gradient(9000, 0.5f);
    for (const bool exchange : {false, true}) {
      std::vector<int64_t> cuts;
      for (int p = 1; p <= servers; ++p) cuts.push_back(9000 * p / servers);
      std::vector<Part> parts = Cluster(config, cuts);
      std::vector<float> weights(9000, 0.0f);
      UpdateInfo update;
      update.learning_rate = 1;
      StepAll(update, gradient, exchange, &parts, &weights);
      double sum = 0;
      for (const float w : weights) sum += static_cast<double>(w) * w;
      EXPECT_NEAR(std::sqrt(sum), exchange ? 1 : std::sqrt(servers), 1e-3)
          << servers << " servers";
    }
  }
}

TEST(SplitTensorsTest, EveryHolderOfATensorHasTheSameSecondMoment) {
  const Trajectory trajectory = UnevenTrajectory();
  std::vector<Part> parts =
      Cluster(OptimizerFrom("name: 'novograd'"), Splits().back());
  std::vector<float> weights = trajectory.weights;
  for (int t = 0; t < kUpdates; ++t) {
    StepAll(UpdateOf(t), trajectory.gradients[t], true, &parts, &weights);
  }
  std::vector<std::vector<float>> seen(Sizes().size());
  for (Part& part : parts) {
    const std::vector<float>& second = *part.optimizer->State()[1].second;
    ASSERT_EQ(second.size(), part.stretches.size());
    for (size_t s = 0; s < second.size(); ++s) {
      seen[part.stretches[s].tensor].push_back(second[s]);
    }
  }
  EXPECT_EQ(seen[0].size(), 3u);
  for (const std::vector<float>& moments : seen) {
    for (const float v : moments) {
      EXPECT_EQ(v, moments[0]);
      EXPECT_GT(v, 0);
    }
  }
}

}  // namespace
}  // namespace ps
