// Computes the softmax in vectorised loops, one row of logits at a time.
#ifndef TENSOR_CPU_CPU_SOFTMAX_LOOPS_H_
#define TENSOR_CPU_CPU_SOFTMAX_LOOPS_H_

#include <cstdint>

namespace ps {

struct SoftmaxRow {
  int64_t classes = 0;
  const float* logits = nullptr;
  int32_t label = 0;
  // Receives gradient_scale x (softmax(logits) - one-hot(label)), unless it is
  // null; it may be the memory of the logits.
  float* gradient = nullptr;
  float gradient_scale = 0;
};

struct SoftmaxResult {
  double loss = 0;  // -ln softmax(logits)[label].
  // The number of logits that are larger than the label's, or equal and before
  // it. If the label's logit is NaN, the number of all logits.
  int64_t rank = 0;
};

// Computes the loss of a row. Exponentials are floats, and each block of a few
// hundred is added to a double: loss and gradient are exact to about 1e-6.
SoftmaxResult Softmax(const SoftmaxRow& row);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_SOFTMAX_LOOPS_H_
