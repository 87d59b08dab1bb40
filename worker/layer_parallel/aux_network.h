// A small network that generates the auxiliary variables of a cut from the
// inputs (Sun et al., "Layer-Parallel Training of Residual Networks with
// Auxiliary-Variable Networks", arXiv 2112.05387). Nothing is kept for each
// example, and inputs may be changed at random in every epoch. It is not part
// of the model that is trained.
#ifndef WORKER_LAYER_PARALLEL_AUX_NETWORK_H_
#define WORKER_LAYER_PARALLEL_AUX_NETWORK_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "models/layers/layer_times.h"
#include "tensor/backend.h"
#include "worker/layer_parallel/cut_variables.h"

namespace ps {

// The options. Pointers are not owned and must outlive the network.
struct AuxNetworkOptions {
  CutOptions cut;
  ExampleShape example;
  int64_t batch_size = 0;
  double learning_rate = 0;  // Adam's learning rate.
  uint64_t seed = 0;
  int number = 0;  // The cut's index, which seeds initial weights.
  // The weights of the stage behind the cut. The network must have at most a
  // tenth of them, and 15 % of its multiplications.
  int64_t stage_weights = 0;
  int64_t stage_multiplications = 0;
  Backend* backend = nullptr;
  LayerTimes* times = nullptr;
};

// Creates the network: a convolution with a stride to the size of the cut, two
// residual blocks of a quarter of its channels, and a 1 x 1 convolution to its
// channels. Store and Record train the network to predict their values: with
// the step size s of the variables, the loss is the square of the distance to
// the new values over 2 s, whose gradient is that of the whole loss. There are
// no multipliers, which need examples that do not change. Errors:
// kInvalidArgument for a size that does not divide the images', and a network
// that is too large.
absl::StatusOr<std::unique_ptr<CutVariables>> NewAuxNetwork(
    const AuxNetworkOptions& options);

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_AUX_NETWORK_H_
