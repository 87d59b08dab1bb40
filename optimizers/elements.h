// Implements rules that treat each element separately, as one update of one
// element, for servers, workers and devices. docs/optimizers.md has the
// formulas; the .cc file of each rule has its source, and where its constants
// come from. The host compiles them without fused products, so that servers and
// workers there give the same bits.
#ifndef OPTIMIZERS_ELEMENTS_H_
#define OPTIMIZERS_ELEMENTS_H_

#include <cmath>

#include "common/host_device.h"

namespace ps {

// An element rule is called with the gradient, the weight, and as many floats
// of state as kStates says, and changes all but the gradient.

// d = g + weight_decay w;  w = w - learning_rate d.
struct SgdElement {
  static constexpr int kStates = 0;
  float scale;  // Multiplies the gradient.
  float weight_decay;
  float rate;

  PS_HOST_DEVICE void operator()(float gradient, float* w) const {
    const float d = gradient * scale + weight_decay * *w;
    *w -= rate * d;
  }
};

// d = g + weight_decay w;  b = momentum b + entering d;
// heavy ball: w = w - learning_rate b;
// Nesterov:   w = w - learning_rate (d + momentum b).
template <bool kNesterov>
struct MomentumElement {
  static constexpr int kStates = 1;
  float scale;  // Multiplies the gradient.
  float weight_decay;
  float momentum;
  float entering;  // The share of d that enters the buffer.
  float rate;

  PS_HOST_DEVICE void operator()(float gradient, float* w,
                                 float* buffer) const {
    const float d = gradient * scale + weight_decay * *w;
    const float b = momentum * *buffer + entering * d;
    *buffer = b;
    *w -= rate * (kNesterov ? d + momentum * b : b);
  }
};

// d = g + weight_decay w;  a = a + d^2;  w = w - rate d / (sqrt(a) + epsilon).
struct AdagradElement {
  static constexpr int kStates = 1;
  float scale;  // Multiplies the gradient.
  float weight_decay;
  float rate;
  float epsilon;

  PS_HOST_DEVICE void operator()(float gradient, float* w, float* sum) const {
    const float d = gradient * scale + weight_decay * *w;
    const float a = *sum + d * d;
    *sum = a;
    const float divisor = std::sqrt(a) + epsilon;
    // With epsilon 0, both d and the root are 0 until the first gradient.
    *w -= rate * d / (divisor == 0 ? 1 : divisor);
  }
};

// The two moments of a gradient, with the constants of one update.
struct AdamMoments {
  float beta1;
  float beta2;
  float entering1;  // 1 - beta1
  float entering2;  // 1 - beta2
  // Bias correction: moments that began as 0 are too small by these factors.
  float correction1;  // 1 / (1 - beta1^t)
  float correction2;  // 1 / sqrt(1 - beta2^t)
  float epsilon;

  // Adds a gradient to both moments and returns [m / (1 - beta1^t)] / [sqrt(v /
  // (1 - beta2^t)) + epsilon].
  PS_HOST_DEVICE float Direction(float d, float* first, float* second) const {
    const float m = beta1 * *first + entering1 * d;
    const float v = beta2 * *second + entering2 * (d * d);
    *first = m;
    *second = v;
    const float divisor = std::sqrt(v) * correction2 + epsilon;
    // With epsilon 0, both m and the divisor are 0 until the first gradient.
    return m * correction1 / (divisor == 0 ? 1 : divisor);
  }
};

// Adam:  d = g + weight_decay w;  w = w - rate direction(d).
// AdamW: d = g;  w = (1 - rate weight_decay) w - rate direction(d).
struct AdamElement {
  static constexpr int kStates = 2;
  AdamMoments moments;
  float scale;   // Multiplies the gradient.
  float added;   // Weight decay of Adam, 0 for AdamW.
  float shrink;  // Rate x weight decay of AdamW, 0 for Adam.
  float rate;

  PS_HOST_DEVICE void operator()(float gradient, float* w, float* first,
                                 float* second) const {
    const float d = gradient * scale + added * *w;
    const float direction = moments.Direction(d, first, second);
    // Computing 1 - shrink first would lose most digits of a small shrink.
    *w -= rate * direction + shrink * *w;
  }
};

}  // namespace ps

#endif  // OPTIMIZERS_ELEMENTS_H_
