// The interface of the loss of a network that labels a sequence without knowing
// which frame each label belongs to.
#ifndef TENSOR_CTC_LOSS_H_
#define TENSOR_CTC_LOSS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ps {

// The labels of one batch, in host memory.
struct CtcTargets {
  absl::Span<const int32_t> input_lengths;  // [batch], each in [1, steps].
  // All transcripts, one after the other, each label in [1, classes).
  absl::Span<const int32_t> labels;
  absl::Span<const int32_t> label_lengths;  // [batch], each at least 0.
};

// Returns the frames that a transcript needs: blanks separate equal neighbours.
inline int64_t CtcFramesNeeded(absl::Span<const int32_t> labels) {
  int64_t frames = static_cast<int64_t>(labels.size());
  for (size_t i = 1; i < labels.size(); ++i) {
    if (labels[i] == labels[i - 1]) ++frames;
  }
  return frames;
}

// Connectionist temporal classification (Graves, Fernandez, Gomez, Schmidhuber,
// "Connectionist temporal classification: labelling unsegmented sequence data
// with recurrent neural networks", ICML 2006): p is the probability, under a
// softmax in every frame, of all the ways to spell a transcript in its
// example's frames. A label may last for several frames. Class 0, the blank,
// may stand between any two labels and must stand between equal ones.
class CtcLossOp {
 public:
  virtual ~CtcLossOp() = default;

  // Returns the mean of -ln p over the batch. (This is PyTorch's reduction
  // 'sum', divided by the batch size; its 'mean' also divides each example's
  // loss by the number of its labels.) logits: plain [steps, batch, classes].
  // dlogits has the same shape and receives the gradient of the mean, unless it
  // is null. Beyond an example's input length the gradient is 0 and logits are
  // not read. A logit that is not finite makes the loss, and the gradient of
  // its example, NaN.
  // Errors: kInvalidArgument, naming the example, for a length or label out of
  // range, or a transcript that needs more frames than the example has.
  virtual absl::StatusOr<double> Run(const float* logits,
                                     const CtcTargets& targets,
                                     float* dlogits) = 0;
};

}  // namespace ps

#endif  // TENSOR_CTC_LOSS_H_
