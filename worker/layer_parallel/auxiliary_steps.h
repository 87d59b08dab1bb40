// Computes steps of one cut's auxiliary variables and multipliers.
//
// For one example, with variables v at the cut, the end x of the stage before
// it, the penalty b and multipliers m, the loss has the terms
//   b / 2 |v - x|^2 - m (v - x),
// and the stage behind the cut contributes its gradient p at its start. (The
// setting is that of Sun et al., arXiv 2009.01462; the formulas are derived in
// docs/layer_parallel.md.) All values are per example, never divided by the
// batch size: the mean over a batch would move variables too slowly.
//
// The functions are templates, so that tests can take differences in double.
#ifndef WORKER_LAYER_PARALLEL_AUXILIARY_STEPS_H_
#define WORKER_LAYER_PARALLEL_AUXILIARY_STEPS_H_

#include <cstdint>

namespace ps {

// The vectors of one cut; all have the same length. Pointers are not owned.
template <typename Real>
struct CutValues {
  int64_t size = 0;
  Real* variables = nullptr;
  Real* multipliers = nullptr;  // Null in the penalty method, where they are 0.
  double penalty = 0;           // Above 0.
};

// Computes the target v - m / b, for the stage before the cut.
template <typename Real>
void TargetOf(const CutValues<Real>& cut, Real* target) {
  for (int64_t i = 0; i < cut.size; ++i) {
    target[i] = cut.variables[i];
    if (cut.multipliers != nullptr) {
      target[i] -= static_cast<Real>(cut.multipliers[i] / cut.penalty);
    }
  }
}

// Computes the gradient of the terms at the end of the stage before the cut: b
// (end - target). `gradient` may be `target`.
template <typename Real>
void EndGradient(int64_t size, double penalty, const Real* end,
                 const Real* target, Real* gradient) {
  for (int64_t i = 0; i < size; ++i) {
    gradient[i] = static_cast<Real>(penalty * (double{end[i]} - target[i]));
  }
}

// Computes the gradient of the loss at the variables, b (v - x) - m + p, where
// p is start_gradient.
template <typename Real>
double VariableGradient(const CutValues<Real>& cut, const Real* end,
                        const Real* start_gradient, int64_t i) {
  double gradient = cut.penalty * (double{cut.variables[i]} - end[i]) +
                    double{start_gradient[i]};
  if (cut.multipliers != nullptr) gradient -= cut.multipliers[i];
  return gradient;
}

// Moves the variables by -step_size times their gradient, and then the
// multipliers by -multiplier_step x b times the remaining mismatch. Returns the
// square of the mismatch before.
template <typename Real>
double StepCut(const CutValues<Real>& cut, const Real* end,
               const Real* start_gradient, double step_size,
               double multiplier_step) {
  double squares = 0;
  for (int64_t i = 0; i < cut.size; ++i) {
    const double mismatch = double{cut.variables[i]} - end[i];
    squares += mismatch * mismatch;
    cut.variables[i] -= static_cast<Real>(
        step_size * VariableGradient(cut, end, start_gradient, i));
    if (cut.multipliers == nullptr) continue;
    cut.multipliers[i] -= static_cast<Real>(
        multiplier_step * cut.penalty * (double{cut.variables[i]} - end[i]));
  }
  return squares;
}

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_AUXILIARY_STEPS_H_
