// Softmax cross entropy, with one block for each row of logits.
#ifndef TENSOR_CUDA_NN_SOFTMAX_CORE_H_
#define TENSOR_CUDA_NN_SOFTMAX_CORE_H_

#include <math.h>

#include <cstdint>

#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

struct SoftmaxRowResult {
  double loss;  // -ln softmax(logits)[label].
  // The number of logits that are larger than the label's, or equal and before
  // it. If the label's logit is NaN, the number of all logits.
  int64_t rank;
};

// Exponentials are floats; their sum is a double. T is the type of logits and
// gradient. Count: rows.
template <typename T>
struct SoftmaxCore : BlockCore {
  static constexpr const char* kName = "Softmax";
  static constexpr int kMaxLevels = kBlockThreadsLog2;
  static constexpr int kExpPhase = 1 + kMaxLevels;
  static constexpr int kWritePhase = kExpPhase + 1 + kBlockThreadsLog2;
  static constexpr int kPhases = kWritePhase + 1;
  struct Shared {
    double sums[kBlockThreads];
    int64_t ranks[kBlockThreads];
    float maxima[kBlockThreads];
    float label_logit;
  };
  int64_t classes;
  const T* logits;        // [rows, classes]
  const int32_t* labels;  // [rows]
  // [rows, classes]; may be the logits, or null for no gradient.
  T* gradient;
  float gradient_scale;
  SoftmaxRowResult* results;  // [rows]

  PS_HOST_DEVICE void operator()(int phase, int64_t row, int thread,
                                 Shared* shared) const {
    if (phase == 0) {
      Rank(row, thread, shared);
    } else if (phase < kExpPhase) {
      const int half = kBlockThreads >> phase;
      if (thread < half) {
        float* const maxima = shared->maxima;
        maxima[thread] = Larger(maxima[thread], maxima[thread + half]);
      }
      AddHalves(phase - 1, thread, shared->ranks);
    } else if (phase == kExpPhase) {
      const T* const x = logits + row * classes;
      double sum = 0;
      for (int64_t c = thread; c < classes; c += kBlockThreads) {
        sum += expf(x[c] - shared->maxima[0]);
      }
      shared->sums[thread] = sum;
      // Saved here, since the gradient may overwrite it.
      if (thread == 0) shared->label_logit = x[labels[row]];
    } else if (phase < kWritePhase) {
      AddHalves(phase - kExpPhase - 1, thread, shared->sums);
    } else {
      Write(row, thread, *shared);
    }
  }

 private:
  PS_HOST_DEVICE void Rank(int64_t row, int thread, Shared* shared) const {
    const T* const x = logits + row * classes;
    const int64_t label = labels[row];
    const float label_logit = x[label];
    float max = -INFINITY;
    int64_t rank = 0;
    for (int64_t c = thread; c < classes; c += kBlockThreads) {
      const float logit = x[c];
      max = Larger(max, logit);
      // A NaN is not below anything, and so ranks above everything.
      const bool below = c < label ? logit < label_logit : logit <= label_logit;
      if (!below) ++rank;
    }
    shared->maxima[thread] = max;
    shared->ranks[thread] = rank;
  }

  PS_HOST_DEVICE void Write(int64_t row, int thread,
                            const Shared& shared) const {
    const double sum = shared.sums[0];
    const float max = shared.maxima[0];
    if (thread == 0) {
      results[row].loss =
          log(sum) + (static_cast<double>(max) - shared.label_logit);
      results[row].rank = shared.ranks[0];
    }
    if (gradient == nullptr) return;
    const float scale = static_cast<float>(gradient_scale / sum);
    for (int64_t c = thread; c < classes; c += kBlockThreads) {
      float value = expf(logits[row * classes + c] - max) * scale;
      if (c == labels[row]) value -= gradient_scale;
      gradient[row * classes + c] = value;
    }
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_SOFTMAX_CORE_H_
