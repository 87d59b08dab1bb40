#include "worker/layer_rates.h"

#include <cstddef>
#include <set>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "models/tensor_patterns.h"

namespace ps {

absl::StatusOr<std::vector<double>> LayerRates(
    const JobConfig& config, const std::vector<ParameterInfo>& parameters) {
  const bool of_worker = config.has_worker_optimizer();
  const auto& layer_rates = of_worker ? config.worker_optimizer().layer_rates()
                                      : config.optimizer().layer_rates();
  if (layer_rates.empty()) return std::vector<double>();
  const absl::string_view rule = of_worker ? "worker_optimizer" : "optimizer";
  std::set<std::string> names;
  for (const ParameterInfo& parameter : parameters) {
    names.insert(parameter.name);
  }
  std::vector<double> rates(parameters.size(), 1);
  for (int i = 0; i < layer_rates.size(); ++i) {
    const std::vector<std::string> patterns(layer_rates[i].layers().begin(),
                                            layer_rates[i].layers().end());
    PS_RETURN_IF_ERROR(
        CheckPatterns(absl::StrCat(rule, ".layer_rates[", i, "].layers"),
                      patterns, "the model", names));
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (MatchesAny(parameters[p].name, patterns)) {
        rates[p] = layer_rates[i].rate();
      }
    }
  }
  if (absl::c_all_of(rates, [](double rate) { return rate == 0; })) {
    return absl::InvalidArgumentError(
        absl::StrCat(rule,
                     ".layer_rates has rate 0 for every tensor of the "
                     "model; nothing would be trained"));
  }
  return rates;
}

}  // namespace ps
