// Inner products of the gradients of single examples' losses, at one
// checkpoint.
#ifndef TOOLS_INFLUENCE_GRADIENT_PRODUCTS_H_
#define TOOLS_INFLUENCE_GRADIENT_PRODUCTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/batch.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// What the model makes of examples, one after the other.
struct ExampleScores {
  std::vector<int32_t> labels;
  std::vector<int32_t> predicted;
  std::vector<double> losses;  // Natural logarithms.
  std::vector<double> self;    // Squared norms of the gradients.
  // Inner products with the gradients of the queries: [examples, queries].
  std::vector<double> products;
  // Sketches of the gradients, if there are any: [examples, sketch size].
  std::vector<float> sketches;

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

// Everything is as in an evaluation: no dropout, and batch normalisation with
// the checkpoint's statistics. Examples are images with a class each. Not
// thread-safe.
class GradientProducts {
 public:
  virtual ~GradientProducts() = default;

  // Adds queries after those that were added before. Errors of both: those of
  // Model::Predict; kOutOfRange, with the example's place in the batch, if a
  // loss or gradient is not finite.
  virtual absl::Status AddQueries(const Batch& queries) = 0;

  // Appends what is known of the batch's examples, with all queries.
  virtual absl::Status Score(const Batch& batch, ExampleScores* scores) = 0;
};

// A model at a checkpoint. The pointers are not owned, and must outlive what is
// made of them.
struct ModelAtCheckpoint {
  Model* model = nullptr;  // With the checkpoint's statistics.
  const Tensor* weights = nullptr;
  Backend* backend = nullptr;
  ExampleShape example;
};

struct LastLayerOptions {
  bool with_bias = true;  // The bias counts, too.
  // At most this many numbers for each example (sketch.h); 0: no sketches.
  int64_t sketch_size = 0;
  uint64_t sketch_key = 0;
};

// Of the weight of the last layer and perhaps of its bias; from a forward pass
// alone (factors.h). Errors: kInvalidArgument if the last layer is not linear,
// or shares its weight.
absl::StatusOr<std::unique_ptr<GradientProducts>> NewLastLayerProducts(
    const ModelAtCheckpoint& at, const LastLayerOptions& options);

// Of the weights of these layers, or of all weights if `layers` is empty, by a
// backward pass for each example. A layer has every weight whose name begins
// with its own and a dot; the whole name of a weight will do as well. Errors:
// kInvalidArgument for a name without weights.
absl::StatusOr<std::unique_ptr<GradientProducts>> NewLayerProducts(
    const ModelAtCheckpoint& at, const std::vector<std::string>& layers);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_GRADIENT_PRODUCTS_H_
