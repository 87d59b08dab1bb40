// Thresholds from fitted laws of the magnitudes: pure functions of a few sums.
// Abdelmoniem et al., "An Efficient Statistical-based Gradient Compression
// Technique for Distributed Training Systems", MLSys 2021.
#ifndef COMPRESSORS_THRESHOLD_FIT_H_
#define COMPRESSORS_THRESHOLD_FIT_H_

namespace ps {

// Statistics of the positive numbers that a law is fitted to.
struct TailSample {
  double mean = 0;
  double variance = 0;  // Population: divided by n.
};

// The number that a fraction `density` in (0, 1] of the fitted law exceeds.
using TailFit = double (*)(const TailSample& sample, double density);

// Which law is fitted to all magnitudes, and which to what exceeds a threshold.
struct TailFamily {
  TailFit magnitudes;
  TailFit exceedances;
};

// Survival exp(-x / mean): the threshold is mean x ln(1 / density).
double ExponentialThreshold(const TailSample& sample, double density);

// SIDCo-E. The exceedances of an exponential law have the same law again.
extern const TailFamily kExponentialFamily;

// The largest float that is at most x, for x at least 0: a magnitude, being a
// float, exceeds it if and only if it exceeds x.
float FloatAtMost(double x);

}  // namespace ps

#endif  // COMPRESSORS_THRESHOLD_FIT_H_
