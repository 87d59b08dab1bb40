// Fills in the defaults of a SidcoConfig's profile.
#ifndef COMPRESSORS_SIDCO_SIDCO_OPTIONS_H_
#define COMPRESSORS_SIDCO_SIDCO_OPTIONS_H_

#include <cstdint>

#include "compressors/sidco/stage_controller.h"
#include "proto/compressor_config.pb.h"

namespace ps {

struct SidcoOptions {
  double ratio = 0.01;  // The target ratio; (0, 1].
  bool adaptive = true;
  int stages = 1;  // Used if not adaptive; at least 1.
  StageControllerOptions controller;
  bool count_correction = true;
  bool warm_start = true;
  bool exclude_zeros = true;
  bool exact_gamma_inverse = true;  // For sidco_gp.
  double overshoot_cap = 0;         // 0 means no cap.
  double first_stage_ratio = 0.25;
  int64_t exact_below = 1024;
  int64_t min_exceedances = 32;
  int refine_steps = 0;
  double refine_tolerance = 0.05;
};

SidcoOptions ResolveSidcoOptions(const CompressorConfig& config);

// Returns ceil(log2(1 / ratio)), at least 1: one stage per halving, like
// SIDCo's.
int MaxStages(double ratio);

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_SIDCO_OPTIONS_H_
