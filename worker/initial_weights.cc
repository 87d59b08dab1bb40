#include "worker/initial_weights.h"

#include <string>

#include "absl/types/span.h"
#include "common/status_macros.h"
#include "models/initial_weights.h"

namespace ps {

absl::StatusOr<InitialWeights> MakeInitialWeights(const JobConfig& config,
                                                  Model* model,
                                                  Backend* backend) {
  InitialWeights first;
  first.weights.resize(model->num_parameters());
  first.statistics.resize(model->statistics_values().size());
  PS_RETURN_IF_ERROR(
      backend->CopyToHost(model->statistics_values(), first.statistics.data()));
  model->InitializeWeights(config.seed(), first.weights.data());
  const std::string& path = config.model().initial_weights();
  if (path.empty()) return first;
  PS_RETURN_IF_ERROR(Annotate(
      LoadSomeWeights(
          path, *model,
          {config.model().ignore().begin(), config.model().ignore().end()},
          absl::MakeSpan(first.weights), absl::MakeSpan(first.statistics)),
      "model.initial_weights"));
  return first;
}

}  // namespace ps
