// Three updates of w = (3, 4) with gradients (6, 8), (0, 5), (-3, 4). The
// expected values come from an independent implementation in another language,
// in double precision, which was compared with published implementations of
// each rule.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimizers/optimizer.h"
#include "tests/optimizers/optimizer_harness.h"

namespace ps {
namespace {

struct WorkedValues {
  std::string config;
  double learning_rate;
  std::vector<double> expected[3];
};

TEST(WorkedValuesTest, ThreeUpdates) {
  const std::vector<float> gradients[] = {{6, 8}, {0, 5}, {-3, 4}};
  const WorkedValues kCases[] = {
      {"name: 'novograd' weight_decay: 0.01",
       0.1,
       {{2.937, 3.916}, {2.874213, 3.781905}, {2.842147, 3.610125}}},
      {"name: 'lars' momentum: 0.9 trust_coefficient: 0.1 weight_decay: 0.01",
       1,
       {{2.7, 3.6}, {2.427592, 2.790803}, {2.400945, 1.766738}}},
      {"name: 'lamb' weight_decay: 0.01 epsilon: 1e-6",
       0.1,
       {{2.648159, 3.644743}, {2.390507, 3.275169}, {2.307946, 2.878185}}},
      {"name: 'adamw' weight_decay: 0.1",
       0.1,
       {{2.87, 3.86}, {2.774294, 3.725134}, {2.728825, 3.594426}}},
      {"name: 'nesterov' momentum: 0.9",
       0.1,
       {{1.86, 2.48}, {1.374, 0.882}, {1.5066, -0.8662}}},
      {"name: 'adagrad'",
       0.1,
       {{2.9, 3.9}, {2.9, 3.847}, {2.944721, 3.807964}}},
  };
  for (const WorkedValues& c : kCases) {
    // One tensor, with adaptation although it is small.
    const auto optimizer =
        NewRule(OptimizerFrom(c.config), {{0, 0, 2, /*adapt=*/true}});
    std::vector<float> weights = {3, 4};
    for (int t = 0; t < 3; ++t) {
      UpdateInfo update;
      update.learning_rate = c.learning_rate;
      update.update = t;
      WholeStep(update, gradients[t], optimizer.get(), &weights);
      for (int i = 0; i < 2; ++i) {
        EXPECT_NEAR(weights[i], c.expected[t][i], 2e-6)
            << c.config << ", update " << t << ", element " << i;
      }
    }
  }
}

}  // namespace
}  // namespace ps
