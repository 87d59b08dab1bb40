// A linear layer applied at every step of a sequence: the output of a text or
// speech model.
#ifndef MODELS_LAYERS_SEQUENCE_LINEAR_H_
#define MODELS_LAYERS_SEQUENCE_LINEAR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "models/layers/initializer.h"
#include "models/layers/layer.h"

namespace ps {

struct SequenceLinearOptions {
  std::string name = "decoder";
  int64_t in_features = 0;
  int64_t out_features = 0;
  Initializer initializer;
  // Equal to `initializer` if not set.
  std::optional<Initializer> bias_initializer;
  // If set, the weight is the table of an embedding, the first parameter of the
  // model, [out_features, in_features]: Inan et al., "Tying word vectors and
  // word classifiers", and Press and Wolf, "Using the output embedding to
  // improve language models", both 2017. The embedding layer must also be
  // `tied`.
  bool tied = false;
};

// From [steps, batch, in_features] to [steps, batch, out_features]. Parameters:
// `name`.weight, unless tied, and `name`.bias, as in PyTorch's Linear.
std::unique_ptr<Layer> NewSequenceLinearLayer(
    const SequenceLinearOptions& options);

}  // namespace ps

#endif  // MODELS_LAYERS_SEQUENCE_LINEAR_H_
