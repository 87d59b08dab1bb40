// The layers of a network as text: a table, JSON, or the lines of a job.
#ifndef TOOLS_MODEL_LAYER_TABLE_H_
#define TOOLS_MODEL_LAYER_TABLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "models/model.h"

namespace ps {

// One line for each layer, those of a residual block below it, and the sums. A
// block's parameters are those of its layers. Errors of both: kInternal if the
// model's own description of its layers does not fit the examples.
absl::StatusOr<std::string> LayerTable(const Model& model,
                                       const ExampleShape& example);

// The same as an object: "layers", each with "name", "layer", "depth",
// "output" and "parameters", and "parameters" and "statistics" of the model.
absl::StatusOr<std::string> LayerJson(const Model& model,
                                      const ExampleShape& example);

// What a job says to get this network: `name: "layers" layers { ... }`.
std::string LayersText(const Model& model);

}  // namespace ps

#endif  // TOOLS_MODEL_LAYER_TABLE_H_
