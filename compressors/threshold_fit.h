// Thresholds from fitted laws of the magnitudes: pure functions of a few sums.
// Abdelmoniem et al., "An Efficient Statistical-based Gradient Compression
// Technique for Distributed Training Systems", MLSys 2021.
#ifndef COMPRESSORS_THRESHOLD_FIT_H_
#define COMPRESSORS_THRESHOLD_FIT_H_

#include <optional>

namespace ps {

// Statistics of the positive numbers that a law is fitted to.
struct TailSample {
  double mean = 0;
  double variance = 0;  // Population: divided by n.
  double mean_log = 0;  // Only where the family's magnitudes_need_logs.
};

// The number that a fraction `density` in (0, 1] of the fitted law exceeds.
// None if the sample is so nearly constant that a fit would be one of its
// rounding.
using TailFit = std::optional<double> (*)(const TailSample& sample,
                                          double density);

// Which law is fitted to all magnitudes, and which to what exceeds a threshold.
struct TailFamily {
  TailFit magnitudes;
  TailFit exceedances;
  bool magnitudes_need_logs = false;
};

// Survival exp(-x / mean): the threshold is mean x ln(1 / density).
double ExponentialThreshold(double mean, double density);

// SIDCo-E. The exceedances of an exponential law have the same law again.
extern const TailFamily kExponentialFamily;

// SIDCo-P. The exceedances of a generalized Pareto law have such a law again,
// and those of most laws tend to one (Pickands, Balkema, de Haan).
extern const TailFamily kParetoFamily;

// SIDCo-GP: a gamma law, then generalized Pareto laws. The gamma law's quantile
// exactly, or by the paper's closed form, which for shapes below 1 is an upper
// bound of it.
extern const TailFamily kGammaParetoExactFamily;
extern const TailFamily kGammaParetoClosedFamily;

// The largest float that is at most x, for x at least 0: a magnitude, being a
// float, exceeds it if and only if it exceeds x.
float FloatAtMost(double x);

}  // namespace ps

#endif  // COMPRESSORS_THRESHOLD_FIT_H_
