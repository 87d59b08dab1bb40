#include "compressors/sidco/sidco_options.h"

#include <algorithm>
#include <cmath>

namespace ps {
namespace {

StageControllerOptions::Rule ControllerRule(SidcoConfig::Rule rule) {
  switch (rule) {
    case SidcoConfig::FIXED:
      return StageControllerOptions::Rule::kFixed;
    case SidcoConfig::REVERSE:
      return StageControllerOptions::Rule::kReverse;
    case SidcoConfig::PROBE:
      break;
  }
  return StageControllerOptions::Rule::kProbe;
}

}  // namespace

int MaxStages(double ratio) {
  return std::max(1, static_cast<int>(std::ceil(-std::log2(ratio))));
}

SidcoOptions ResolveSidcoOptions(const CompressorConfig& config) {
  const SidcoConfig& sidco = config.sidco();
  const bool paper = sidco.profile() == SidcoConfig::PAPER;
  SidcoOptions options;
  options.ratio = config.ratio();
  options.adaptive = sidco.stages() == 0;
  options.stages = std::max(1, sidco.stages());

  const SidcoConfig::Rule rule =
      sidco.has_rule() ? sidco.rule()
                       : (paper ? SidcoConfig::FIXED : SidcoConfig::PROBE);
  const int start_stages =
      sidco.has_start_stages() ? sidco.start_stages() : (paper ? 1 : 2);
  StageControllerOptions& controller = options.controller;
  controller.rule = ControllerRule(rule);
  controller.max_stages = MaxStages(config.ratio());
  controller.start_stages = std::clamp(start_stages, 1, controller.max_stages);
  controller.adapt_every = sidco.adapt_every();
  controller.tolerance_low = sidco.tolerance_low();
  controller.tolerance_high = sidco.tolerance_high();

  const SidcoConfig::Zeros zeros =
      sidco.has_zeros() ? sidco.zeros()
                        : (paper ? SidcoConfig::ALL : SidcoConfig::EXCLUDE);
  options.exclude_zeros = zeros == SidcoConfig::EXCLUDE;
  const SidcoConfig::GammaInverse gamma_inverse =
      sidco.has_gamma_inverse()
          ? sidco.gamma_inverse()
          : (paper ? SidcoConfig::CLOSED : SidcoConfig::EXACT);
  options.exact_gamma_inverse = gamma_inverse == SidcoConfig::EXACT;
  options.count_correction =
      sidco.has_count_correction() ? sidco.count_correction() : !paper;
  options.warm_start = sidco.has_warm_start() ? sidco.warm_start() : !paper;
  options.overshoot_cap =
      sidco.has_overshoot_cap() ? sidco.overshoot_cap() : (paper ? 0 : 4);
  options.first_stage_ratio = sidco.first_stage_ratio();
  options.exact_below = sidco.exact_below();
  options.min_exceedances = sidco.min_exceedances();
  options.refine_steps =
      sidco.has_refine_steps() ? sidco.refine_steps() : (paper ? 0 : 8);
  options.refine_tolerance = sidco.refine_tolerance();
  return options;
}

}  // namespace ps
