#include "models/described/weight_uses.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_join.h"
#include "common/config_check.h"
#include "models/described/described_layers.h"

namespace ps {

absl::StatusOr<std::vector<int64_t>> WeightUses(const Model& model,
                                                const ExampleShape& example) {
  const LayersConfig config = model.Describe();
  ConfigProblems problems;
  const DescribedLayers described =
      MakeDescribedLayers(config, &example, &problems);
  if (!problems.lines().empty()) {
    return absl::InternalError(absl::StrJoin(problems.lines(), "\n"));
  }
  std::map<std::string, int64_t> uses_of_layer;
  for (const DescribedLayer& layer : described.description) {
    if (!layer.config->has_convolution()) continue;
    uses_of_layer[layer.name] = layer.output.height * layer.output.width;
  }
  std::vector<int64_t> uses;
  for (const ParameterInfo& parameter : model.parameters()) {
    const std::string layer =
        parameter.name.substr(0, parameter.name.rfind('.'));
    const auto found = uses_of_layer.find(layer);
    uses.push_back(
        found == uses_of_layer.end() ? 1 : std::max<int64_t>(1, found->second));
  }
  return uses;
}

}  // namespace ps
