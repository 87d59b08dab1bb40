// The last step of a sequence, and the mean over its steps, on every backend
// against plain loops.

#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "models/layers/layer.h"
#include "models/layers/unary_layers.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/every_backend.h"

namespace ps {
namespace {

constexpr int64_t kBatch = 3;
constexpr int64_t kFeatures = 5;
constexpr int64_t kStep = kBatch * kFeatures;

class StepReduction : public EveryBackend {
 protected:
  struct Results {
    std::vector<float> y, dx;
  };

  static float X(int64_t i) { return 0.25f * static_cast<float>(i % 11) - 1; }
  static float Dy(int64_t i) { return 0.5f * static_cast<float>(i % 7) - 2; }

  // Forward and backward over what an earlier batch has left in memory.
  Results Run(const Layer& layer, int64_t steps) const {
    const std::unique_ptr<Backend> backend = NewBackend();
    PlanContext context;
    context.backend = backend.get();
    context.training = true;
    const auto planned =
        layer.Plan(context, ActivationDesc::Plain({steps, kBatch, kFeatures}));
    EXPECT_TRUE(planned.ok()) << planned.status();
    EXPECT_EQ((*planned)->output().shape, Shape({kBatch, kFeatures}));
    Results results = {std::vector<float>(kStep, 9),
                       std::vector<float>(steps * kStep, 9)};
    std::vector<float> x(steps * kStep), dy(kStep);
    for (size_t i = 0; i < x.size(); ++i) x[i] = X(i);
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = Dy(i);
    PlannedLayer::ForwardArguments forward;
    forward.x = x.data();
    forward.y = results.y.data();
    EXPECT_TRUE((*planned)->Forward(forward).ok());
    PlannedLayer::BackwardArguments backward;
    backward.dy = dy.data();
    backward.dx = results.dx.data();
    EXPECT_TRUE((*planned)->Backward(backward).ok());
    return results;
  }
};

TEST_P(StepReduction, TheMeanCountsEveryStepOnce) {
  for (const int64_t steps : {1, 2, 7}) {
    const Results results = Run(*NewMeanOfStepsLayer(), steps);
    for (int64_t i = 0; i < kStep; ++i) {
      double sum = 0;
      for (int64_t t = 0; t < steps; ++t) {
        sum += X(t * kStep + i);
        EXPECT_FLOAT_EQ(results.dx[t * kStep + i],
                        Dy(i) / static_cast<float>(steps));
      }
      EXPECT_NEAR(results.y[i], sum / static_cast<double>(steps), 1e-6);
    }
  }
}

TEST_P(StepReduction, TheLastStepIsCopiedAndAloneHasAGradient) {
  for (const int64_t steps : {1, 2, 7}) {
    const Results results = Run(*NewLastStepLayer(), steps);
    for (int64_t i = 0; i < kStep; ++i) {
      EXPECT_EQ(results.y[i], X((steps - 1) * kStep + i));
      for (int64_t t = 0; t < steps; ++t) {
        EXPECT_EQ(results.dx[t * kStep + i], t == steps - 1 ? Dy(i) : 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, StepReduction,
                         testing::ValuesIn(BackendNames()), BackendTestName);

}  // namespace
}  // namespace ps
