// Random projections of the gradient of a linear last layer, which keep inner
// products on average.
#ifndef TOOLS_INFLUENCE_SKETCH_H_
#define TOOLS_INFLUENCE_SKETCH_H_

#include <cstdint>
#include <vector>

#include "tools/influence/factors.h"

namespace ps {

struct SketchOptions {
  int64_t outputs = 0;  // Of the layer.
  int64_t inputs = 0;
  bool with_bias = true;
  int64_t size = 0;  // Numbers in a sketch, at most; at least 1.
  uint64_t key = 0;  // Of the draws.
};

// The sketch of the gradient e a^T is (A e) (B a)^T, where A and B are random
// with independent normal elements of variance 1 / rows; the gradient itself is
// never formed. With the bias, a has one more element, which is 1. A has k1 =
// min(root of size, outputs) rows, and B k2 = min(root of size, inputs). If the
// gradient has no more elements than `size`, the sketch is the gradient itself.
//
// The inner product of two sketches has the mean e.e' a.a' and the variance
// [E^2 + (|e|^2 |e'|^2 + E^2) / k1] [F^2 + (|a|^2 |a'|^2 + F^2) / k2] - E^2
// F^2, where E = e.e' and F = a.a'. Relative to the lengths of the gradients
// its error is about 1 / root(size): it finds large influences, and says
// nothing of small ones.
class FactorSketch {
 public:
  explicit FactorSketch(const SketchOptions& options);

  int64_t size() const { return error_rows_ * activation_rows_; }

  // Appends the sketch.
  void Append(const Factors& factors, std::vector<float>* sketch) const;

 private:
  const bool with_bias_;
  const bool exact_;  // Both matrices are the identity, and not kept.
  int64_t error_rows_ = 0;
  int64_t activation_rows_ = 0;
  std::vector<float> of_errors_;       // A: [error_rows_, outputs]
  std::vector<float> of_activations_;  // B: [activation_rows_, inputs]
};

}  // namespace ps

#endif  // TOOLS_INFLUENCE_SKETCH_H_
