// Thresholds from distributions ("laws") fitted to the magnitudes: pure
// functions of a few sums. Abdelmoniem et al., "An Efficient Statistical-based
// Gradient Compression Technique for Distributed Training Systems", MLSys 2021.
#ifndef COMPRESSORS_FITS_THRESHOLD_FIT_H_
#define COMPRESSORS_FITS_THRESHOLD_FIT_H_

#include <optional>

#include "compressors/fits/threshold_formulas.h"

namespace ps {

// The number that a fraction `density` in (0, 1] of the fitted law exceeds.
// Empty if the sample is so nearly constant that a fit would only reflect
// rounding.
using TailFit = std::optional<double> (*)(const TailSample& sample,
                                          double density);

// The laws fitted to all magnitudes and to the exceedances over a threshold.
struct TailFamily {
  TailFit magnitudes;
  TailFit exceedances;
  TailLaw law = TailLaw::kExponential;  // Names both laws, for host and device.
};

// SIDCo-E. The exceedances of an exponential law follow the same law.
extern const TailFamily kExponentialFamily;

// SIDCo-P. The exceedances of a generalized Pareto law follow another
// generalized Pareto law, and those of most laws tend to one (Pickands,
// Balkema, de Haan).
extern const TailFamily kParetoFamily;

// SIDCo-GP: a gamma law, then generalized Pareto laws. The quantile of the
// gamma law is exact in the first; the second uses the paper's closed form, an
// upper bound for shapes below 1.
extern const TailFamily kGammaParetoExactFamily;
extern const TailFamily kGammaParetoClosedFamily;

}  // namespace ps

#endif  // COMPRESSORS_FITS_THRESHOLD_FIT_H_
