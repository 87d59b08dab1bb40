// Thresholds from fitted laws of the magnitudes: pure functions of a few sums.
// Abdelmoniem et al., "An Efficient Statistical-based Gradient Compression
// Technique for Distributed Training Systems", MLSys 2021.
#ifndef COMPRESSORS_FITS_THRESHOLD_FIT_H_
#define COMPRESSORS_FITS_THRESHOLD_FIT_H_

#include <optional>

#include "compressors/fits/threshold_formulas.h"

namespace ps {

// The number that a fraction `density` in (0, 1] of the fitted law exceeds.
// None if the sample is so nearly constant that a fit would be one of its
// rounding.
using TailFit = std::optional<double> (*)(const TailSample& sample,
                                          double density);

// Which law is fitted to all magnitudes, and which to what exceeds a threshold.
struct TailFamily {
  TailFit magnitudes;
  TailFit exceedances;
  TailLaw law = TailLaw::kExponential;  // What both are, for host and device.
};

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

}  // namespace ps

#endif  // COMPRESSORS_FITS_THRESHOLD_FIT_H_
