// The gradient of a linear last layer, as the two factors that it consists of.
//
// A linear layer computes o = V a + c. If e is the gradient of the loss with
// respect to o (for softmax cross entropy the probabilities minus 1 for the
// label), the gradient of V is the outer product of e and a, and that of c is
// e. The inner product of two examples' gradients is therefore (e . e') (a . a'
// + 1), which needs no gradient. Pruthi et al., "Estimating training data
// influence by tracing gradient descent", NeurIPS 2020.
#ifndef TOOLS_INFLUENCE_FACTORS_H_
#define TOOLS_INFLUENCE_FACTORS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ps {

// In double, in an order that depends on the length only.
double DotProduct(absl::Span<const float> a, absl::Span<const float> b);

// The factors of one example.
struct Factors {
  absl::Span<const float> error;       // [outputs]
  absl::Span<const float> activation;  // [inputs]
};

// The inner product of two examples' gradients of the layer's weight and, if
// `with_bias`, also of its bias.
double FactoredProduct(const Factors& a, const Factors& b, bool with_bias);

// Softmax cross entropy of one example.
struct ClassLoss {
  double loss = 0;           // Natural logarithm.
  int32_t predicted = 0;     // The largest output; of equal ones, the first.
  std::vector<float> error;  // [classes]: probabilities minus 1 for the label.
};

// label: in [0, logits.size()).
ClassLoss SoftmaxLoss(absl::Span<const float> logits, int32_t label);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_FACTORS_H_
