// The facts from which the method follows, in doubles, on a small network that
// is written out in the test.

#include "worker/layer_parallel/auxiliary_steps.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tests/worker/layer_parallel/toy_network.h"
#include "worker/layer_parallel/step_size.h"

namespace ps {
namespace {

// A network in training, with the state of its cuts. Cut k is at the start of
// stage k; number 0 is unused.
class Training {
 public:
  Training(const ToyNetwork& network, double penalty)
      : network_(network),
        penalty_(penalty),
        variables_(network.stages()),
        multipliers_(network.stages()) {
    const ToyNetwork::Serial serial = network.RunSerial();
    for (size_t k = 1; k < network.stages(); ++k) {
      variables_[k] = serial.starts[k];
      multipliers_[k].assign(ToyNetwork::kWidth, 0);
    }
  }

  Vector& variables(size_t k) { return variables_[k]; }
  Vector& multipliers(size_t k) { return multipliers_[k]; }
  const Vector& start_gradient(size_t k) const { return start_gradients_[k]; }

  CutValues<double> cut(size_t k) {
    CutValues<double> values;
    values.size = static_cast<int64_t>(variables_[k].size());
    values.variables = variables_[k].data();
    values.multipliers = multipliers_[k].data();
    values.penalty = penalty_;
    return values;
  }

  // The whole loss, as a function of the variables.
  double Loss() const {
    double loss = 0;
    Vector start = network_.input();
    for (size_t k = 0; k < network_.stages(); ++k) {
      const Vector end = network_.Forward(k, start);
      if (k + 1 == network_.stages()) return loss + network_.Loss(end);
      const Vector mismatch = Plus(variables_[k + 1], -1, end);
      loss += penalty_ / 2 * Dot(mismatch, mismatch) -
              Dot(multipliers_[k + 1], mismatch);
      start = variables_[k + 1];
    }
    return loss;
  }

  // Runs all stages, each by itself. Returns the gradient of all weights.
  Vector RunStages() {
    Vector gradient(network_.RunSerial().gradient.size());
    ends_.resize(network_.stages());
    start_gradients_.resize(network_.stages());
    for (size_t k = 0; k < network_.stages(); ++k) {
      const Vector& start = k == 0 ? network_.input() : variables_[k];
      ends_[k] = network_.Forward(k, start);
      Vector end_gradient = network_.LossGradient(ends_[k]);
      if (k + 1 < network_.stages()) {
        Vector target(ToyNetwork::kWidth);
        TargetOf(cut(k + 1), target.data());
        EndGradient(static_cast<int64_t>(target.size()), penalty_,
                    ends_[k].data(), target.data(), end_gradient.data());
      }
      start_gradients_[k] =
          network_.Backward(k, start, end_gradient, &gradient);
    }
    return gradient;
  }

  // After RunStages. Returns the squares of the mismatch at all cuts.
  double StepVariables(double step_size, double multiplier_step) {
    double squares = 0;
    for (size_t k = 1; k < network_.stages(); ++k) {
      squares +=
          StepCut(cut(k), ends_[k - 1].data(), start_gradients_[k].data(),
                  step_size, multiplier_step);
    }
    return squares;
  }

  double MismatchNorm() const {
    double squares = 0;
    for (size_t k = 1; k < network_.stages(); ++k) {
      const Vector mismatch = Plus(variables_[k], -1, ends_[k - 1]);
      squares += Dot(mismatch, mismatch);
    }
    return std::sqrt(squares);
  }

  // Until the variables do not move any more.
  void Minimise(double step_size) {
    for (int i = 0; i < 200000; ++i) {
      RunStages();
      double largest = 0;
      for (size_t k = 1; k < network_.stages(); ++k) {
        for (int64_t j = 0; j < cut(k).size; ++j) {
          largest = std::max(largest, std::abs(VariableGradient(
                                          cut(k), ends_[k - 1].data(),
                                          start_gradients_[k].data(), j)));
        }
      }
      if (largest < 1e-10) return;
      StepVariables(step_size, 0);
    }
    FAIL() << "the variables still move";
  }

 private:
  const ToyNetwork& network_;
  const double penalty_;
  std::vector<Vector> variables_;
  std::vector<Vector> multipliers_;
  std::vector<Vector> ends_;
  std::vector<Vector> start_gradients_;
};

double RelativeError(const Vector& a, const Vector& b) {
  return Distance(a, b) / std::sqrt(Dot(b, b));
}

TEST(AuxiliarySteps, WithTheAdjointAsMultiplierGradientsAreBackPropagations) {
  for (const size_t stages : {2, 3, 4}) {
    const ToyNetwork network(stages, 3, 0.5, /*linear=*/false);
    const ToyNetwork::Serial serial = network.RunSerial();
    Training training(network, 3);
    for (size_t k = 1; k < stages; ++k) {
      training.multipliers(k) = serial.adjoints[k];
    }
    EXPECT_LT(RelativeError(training.RunStages(), serial.gradient), 1e-14);
    // The opposite sign is not the same.
    for (size_t k = 1; k < stages; ++k) {
      for (double& m : training.multipliers(k)) m = -m;
    }
    EXPECT_GT(RelativeError(training.RunStages(), serial.gradient), 0.1);
  }
}

TEST(AuxiliarySteps, WithoutMultipliersEarlyStagesLearnNothingAtFirst) {
  const ToyNetwork network(3, 2, 0.5, /*linear=*/false);
  const ToyNetwork::Serial serial = network.RunSerial();
  Training training(network, 3);
  const Vector gradient = training.RunStages();
  const size_t per_stage = gradient.size() / 3;
  for (size_t i = 0; i < 2 * per_stage; ++i) EXPECT_EQ(gradient[i], 0);
  for (size_t i = 2 * per_stage; i < gradient.size(); ++i) {
    EXPECT_DOUBLE_EQ(gradient[i], serial.gradient[i]);
  }
  training.StepVariables(0.1, 0);
  const Vector later = training.RunStages();
  EXPECT_GT(std::abs(later[2 * per_stage - 1]), 0);
}

TEST(AuxiliarySteps, GradientOfVariablesIsTheDifferenceOfTheLoss) {
  const ToyNetwork network(3, 2, 0.5, /*linear=*/false);
  Training training(network, 3);
  // Away from consistency, with multipliers.
  for (size_t k = 1; k < 3; ++k) {
    for (size_t i = 0; i < ToyNetwork::kWidth; ++i) {
      training.variables(k)[i] += 0.1 * static_cast<double>(i + k);
      training.multipliers(k)[i] = 0.3 - 0.2 * static_cast<double>(i);
    }
  }
  training.RunStages();
  constexpr double kDifference = 1e-5;
  for (size_t k = 1; k < 3; ++k) {
    const Vector start = k == 1 ? network.input() : training.variables(k - 1);
    const Vector end = network.Forward(k - 1, start);
    for (size_t i = 0; i < ToyNetwork::kWidth; ++i) {
      const double gradient = VariableGradient(
          training.cut(k), end.data(), training.start_gradient(k).data(),
          static_cast<int64_t>(i));
      double& variable = training.variables(k)[i];
      const double value = variable;
      variable = value + kDifference;
      const double above = training.Loss();
      variable = value - kDifference;
      const double below = training.Loss();
      variable = value;
      EXPECT_NEAR(gradient, (above - below) / (2 * kDifference), 1e-7);
    }
  }
}

TEST(AuxiliarySteps, PenaltyLeavesABiasThatFallsLikeItsInverse) {
  const ToyNetwork network(3, 2, 0.3, /*linear=*/true);
  const Vector serial = network.RunSerial().gradient;
  double scaled_violation = 0;
  double error = 0;
  for (const double penalty : {100.0, 1000.0}) {
    Training training(network, penalty);
    training.Minimise(0.1 / penalty);
    const Vector gradient = training.RunStages();
    // The stage before a cut gets the gradient of the stage behind it.
    for (size_t k = 1; k < 3; ++k) {
      Vector start = k == 1 ? network.input() : training.variables(k - 1);
      const Vector end = network.Forward(k - 1, start);
      const Vector mismatch = Plus(training.variables(k), -1, end);
      EXPECT_LT(Distance(Plus(Vector(4), -penalty, mismatch),
                         training.start_gradient(k)),
                1e-9);
    }
    const double violation = training.MismatchNorm() * penalty;
    const double latest = RelativeError(gradient, serial);
    if (scaled_violation > 0) {
      EXPECT_NEAR(violation / scaled_violation, 1, 0.1);
      EXPECT_NEAR(error / latest, 10, 2);
    }
    scaled_violation = violation;
    error = latest;
  }
}

TEST(AuxiliarySteps, MultiplierStepsRemoveTheBias) {
  const ToyNetwork network(3, 2, 0.3, /*linear=*/true);
  const Vector serial = network.RunSerial().gradient;
  constexpr double kPenalty = 10;
  Training training(network, kPenalty);
  double error = 1e9;
  for (int i = 0; i < 8; ++i) {
    training.Minimise(0.1 / kPenalty);
    const double latest = RelativeError(training.RunStages(), serial);
    EXPECT_LT(latest, error) << i;
    error = latest;
    // Only the multipliers move, by the whole mismatch: they become the
    // gradient at the start of the stage behind.
    training.StepVariables(0, 1);
    for (size_t k = 1; k < 3; ++k) {
      EXPECT_LT(Distance(training.multipliers(k), training.start_gradient(k)),
                1e-9);
    }
  }
  EXPECT_LT(error, 0.01);
}

TEST(AuxiliarySteps, MultipliersUseTheMismatchAfterTheStepOfVariables) {
  double variable = 2;
  double multiplier = 0.5;
  CutValues<double> cut;
  cut.size = 1;
  cut.variables = &variable;
  cut.multipliers = &multiplier;
  cut.penalty = 4;
  const double end = 1;
  const double start_gradient = 0.25;
  EXPECT_DOUBLE_EQ(StepCut(cut, &end, &start_gradient, 0.1, 0.5), 1);
  EXPECT_DOUBLE_EQ(variable, 2 - 0.1 * (4 * 1 - 0.5 + 0.25));
  EXPECT_DOUBLE_EQ(multiplier, 0.5 - 0.5 * 4 * (variable - 1));
}

TEST(AuxiliarySteps, OneCutWithAStepOfTheInverseIsDelayedBackPropagation) {
  const ToyNetwork network(2, 3, 0.5, /*linear=*/false);
  constexpr double kPenalty = 20;
  Training training(network, kPenalty);
  training.RunStages();
  for (int i = 0; i < 5; ++i) {
    const Vector before = training.start_gradient(1);
    training.StepVariables(1 / kPenalty, 0);
    training.RunStages();
    const Vector end = network.Forward(0, network.input());
    Vector target(4);
    Vector received(4);
    training.multipliers(1).assign(4, 0);
    TargetOf(training.cut(1), target.data());
    EndGradient(4, kPenalty, end.data(), target.data(), received.data());
    EXPECT_LT(Distance(received, before), 1e-12);
  }
}

// How far the variables are from where they end after 60 steps, over how far
// they were at the beginning.
double Growth(size_t stages, double penalty, double step_size) {
  const ToyNetwork network(stages, 2, 0.3, /*linear=*/true);
  Training training(network, penalty);
  // The steady mismatch of a penalty hides what happens to deviations.
  Training steady(network, penalty);
  steady.Minimise(0.1 / penalty);
  const auto deviation = [&] {
    double squares = 0;
    for (size_t k = 1; k < stages; ++k) {
      const double d = Distance(training.variables(k), steady.variables(k));
      squares += d * d;
    }
    return squares;
  };
  const double early = deviation();
  for (int i = 0; i < 60; ++i) {
    training.RunStages();
    training.StepVariables(step_size, 0);
  }
  return deviation() / early;
}

TEST(StepSize, TheInverseOfThePenaltyDivergesFromThreeStagesOn) {
  constexpr double kPenalty = 100;
  // This network's stages have singular values below 2.5 (see below).
  constexpr double kSigma = 2.5;
  for (const int stages : {3, 4, 8}) {
    EXPECT_GT(Growth(stages, kPenalty, 1 / kPenalty), 10) << stages;
    EXPECT_LT(Growth(stages, kPenalty, StableStep(stages, kPenalty, kSigma)), 1)
        << stages;
  }
  EXPECT_LT(Growth(2, kPenalty, 1 / kPenalty), 1);
  EXPECT_LT(Growth(2, kPenalty, StableStep(2, kPenalty, kSigma)), 1);
}

TEST(StepSize, FormulaIsHalfTheStableStep) {
  EXPECT_DOUBLE_EQ(StableStep(3, 10, 2), 1 / (10 * 9 + 0.5 * 4));
  EXPECT_DOUBLE_EQ(StableStep(2, 10, 2), 1 / (10 + 0.5 * 4));
  EXPECT_DOUBLE_EQ(StableStep(3, 10, 0.1), StableStep(3, 10, 1));
}

TEST(StepSize, GuardComparesWholeEpochs) {
  StepGuard guard;
  std::vector<bool> grows;
  // Epochs of three batches with the means 6, 9, 9, 19 and 38.
  for (const double mismatch : {5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 1.0, 2.0, 24.0,
                                18.0, 19.0, 20.0, 37.0, 38.0, 39.0}) {
    grows.push_back(guard.Grows(mismatch, /*batches_per_epoch=*/3));
  }
  std::vector<bool> expected(15, false);
  expected[11] = true;  // 19 is more than twice 9, and 38 is twice 19.
  EXPECT_EQ(grows, expected);
}

}  // namespace
}  // namespace ps
