// Cuts a network into stages.
#ifndef WORKER_LAYER_PARALLEL_NETWORK_CUTS_H_
#define WORKER_LAYER_PARALLEL_NETWORK_CUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "models/layers/chain.h"
#include "models/model.h"
#include "proto/layer_parallel_config.pb.h"

namespace ps {

struct Stage {
  std::string name;  // The name of its first layer; empty for the first stage.
  // The layers, with positions in the stage's own weights and statistics.
  std::vector<PlacedLayer> layers;
  // Its part of the model's flat vector, and of the statistics.
  int64_t begin = 0;
  int64_t end = 0;
  int64_t statistics_begin = 0;
  int64_t statistics_end = 0;
  // The number of multiplications in a forward pass of one example.
  int64_t multiplications = 0;
};

// Returns the stages of `model`, from the first to the last, cut at the
// validated config.cut_before or, if that is empty, by multiplications. Errors:
// kInvalidArgument for a layer that is not in the network or not a residual
// block, names that are not in the network's order, a network with too few
// residual blocks, and one that is not for images.
absl::StatusOr<std::vector<Stage>> CutNetwork(
    const Model& model, const ExampleShape& example,
    const LayerParallelConfig& config);

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_NETWORK_CUTS_H_
