// Loads weights from a file, to start from instead of random ones.
#ifndef MODELS_INITIAL_WEIGHTS_H_
#define MODELS_INITIAL_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "formats/safetensors.h"
#include "models/model.h"

namespace ps {

// Reads a safetensors file whose tensors are the model's parameters and
// statistics, with the same names and shapes: PyTorch's state dict of the same
// architecture, in float32, float16 or bfloat16. Tensors named
// num_batches_tracked, a counter of PyTorch's batch normalisation, are ignored.
// weights: [num_parameters]; statistics: as many elements as the model's
// statistics. Both are in host memory, and unchanged after an error. *metadata,
// unless it is null, receives the file's. Errors: kInvalidArgument, listing
// every tensor that is missing, that the model does not have, or that has
// another shape, an unsupported type or a value that is not finite; those of
// ReadSafetensors.
absl::Status LoadInitialWeights(const std::string& path, const Model& model,
                                absl::Span<float> weights,
                                absl::Span<float> statistics,
                                SafetensorsMetadata* metadata = nullptr);

// Like LoadInitialWeights, but skips tensors that match a pattern of `ignore`
// (models/tensor_patterns.h), whether they are in the file or not: their
// elements of `weights` and `statistics` are unchanged. Errors: also
// kInvalidArgument for a pattern that matches no tensor, or if nothing is left
// to load; an error about tensors says which patterns would skip them.
absl::Status LoadSomeWeights(const std::string& path, const Model& model,
                             const std::vector<std::string>& ignore,
                             absl::Span<float> weights,
                             absl::Span<float> statistics);

}  // namespace ps

#endif  // MODELS_INITIAL_WEIGHTS_H_
