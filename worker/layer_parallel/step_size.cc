#include "worker/layer_parallel/step_size.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/status_macros.h"

namespace ps {
namespace {

constexpr int kPowerIterations = 3;
// The difference relative to the norm of the start: large beside the rounding
// of floats, and small beside the distance to the kinks of most ReLUs.
constexpr double kDifference = 1e-2;
// The purpose separates these draws from all others: "jacobian" in ASCII.
constexpr uint64_t kDirectionKey = 0x6a61636f6269616e;
// The tolerated growth of the mismatch, since weights change, too.
constexpr double kMostGrowth = 2;

double Norm(const float* x, int64_t size) {
  double squares = 0;
  for (int64_t i = 0; i < size; ++i) squares += double{x[i]} * x[i];
  return std::sqrt(squares);
}

}  // namespace

absl::StatusOr<double> LargestSingularValue(const float* start,
                                            const StagePlan::Values& values,
                                            float* gradient, StagePlan* stage) {
  const int64_t start_size = NumElements(stage->start_shape());
  const int64_t end_size = NumElements(stage->end_shape());
  std::vector<float> direction(start_size);
  RandomStream random(RandomKey(kDirectionKey));
  for (float& x : direction) x = static_cast<float>(random.Uniform(-1, 1));
  const double difference =
      kDifference * std::max(Norm(start, start_size), 1e-6);
  PS_RETURN_IF_ERROR(stage->Forward(start, values));
  const std::vector<float> end(stage->end(), stage->end() + end_size);
  std::vector<float> moved(start_size);
  std::vector<float> change(end_size);
  double singular_value = 0;
  for (int i = 0; i < kPowerIterations; ++i) {
    const double scale =
        difference / std::max(Norm(direction.data(), start_size), 1e-30);
    for (int64_t j = 0; j < start_size; ++j) {
      moved[j] = static_cast<float>(start[j] + scale * direction[j]);
    }
    PS_RETURN_IF_ERROR(stage->Forward(moved.data(), values));
    for (int64_t j = 0; j < end_size; ++j) {
      change[j] =
          static_cast<float>((double{stage->end()[j]} - end[j]) / difference);
    }
    singular_value = std::max(singular_value, Norm(change.data(), end_size));
    // Backward belongs to the latest Forward.
    PS_RETURN_IF_ERROR(stage->Forward(start, values));
    PS_RETURN_IF_ERROR(stage->Backward(change.data(), values, gradient));
    std::copy_n(stage->start_gradient(), start_size, direction.begin());
  }
  return singular_value;
}

double StableStep(int stages, double penalty, double singular_value) {
  // No eigenvalue of diag(p) - p p', for softmax cross entropy, is larger.
  constexpr double kLossCurvature = 0.5;
  const double sigma = std::max(singular_value, 1.0);
  const double coupled = stages > 2 ? (1 + sigma) * (1 + sigma) : 1;
  return 1 / (penalty * coupled + kLossCurvature * sigma * sigma);
}

bool StepGuard::Grows(double mismatch, int64_t batches_per_epoch) {
  sum += mismatch;
  if (++batches < batches_per_epoch) return false;
  const double mean = sum / static_cast<double>(batches);
  const bool grows = latest > 0 && mean > kMostGrowth * latest;
  *this = StepGuard();
  latest = mean;
  return grows;
}

}  // namespace ps
