// CTC of one example: the ways through its frames that spell its transcript.
#ifndef TENSOR_CPU_CPU_CTC_LATTICE_H_
#define TENSOR_CPU_CPU_CTC_LATTICE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"

namespace ps {

// One example's frames among the logits of a batch.
struct CtcFrames {
  const float* logits = nullptr;
  int64_t count = 0;
  int64_t stride = 0;  // From one frame to the next.
  int64_t classes = 0;
};

// Memory for one example at a time. Not thread-safe.
class CtcLattice {
 public:
  CtcLattice(int64_t steps, int64_t classes);

  // Before the examples of a batch: makes room for transcripts of so many
  // labels. Allocates only when they are longer than all before.
  void Reserve(int64_t num_labels);

  // -ln p; NaN if a logit is not finite. frames: not more than `steps`, and
  // enough for the transcript, which is not longer than was reserved.
  double Loss(const CtcFrames& frames, absl::Span<const int32_t> labels);

  // Writes the gradient of `scale` x the latest Loss, which was finite, of the
  // same frames. gradient: laid out as the logits.
  void Backward(const CtcFrames& frames, double scale, float* gradient);

 private:
  bool SetLogSoftmax(const CtcFrames& frames);
  void SetStates(absl::Span<const int32_t> labels);
  void SetEmission(const CtcFrames& frames, int64_t t);
  void RunForward(const CtcFrames& frames);
  double* ForwardRow(int64_t t);
  void WriteGradient(const CtcFrames& frames, int64_t t, double scale,
                     float* gradient);

  const int64_t steps_;
  int64_t reserved_states_ = 0;
  // State 2 i + 1 is label i; the even ones are the blanks around the labels.
  int64_t num_states_ = 0;
  int64_t padded_ = 0;  // States of a row, with what the vector loops need.
  std::vector<int32_t> state_classes_;  // [num_states]
  std::vector<double> skip_weight_;     // ln 1 where a state may be skipped to.
  // Logarithms. Uninitialised memory, rather than vectors.
  std::unique_ptr<double[]> log_softmax_;  // [frames, classes]
  std::unique_ptr<double[]> forward_;      // [frames], rows with an edge.
  std::vector<double> backward_[2];        // Of this frame and the one after.
  std::vector<double> emission_;           // Of this frame.
  std::vector<double> shares_;             // Of each state in this frame.
  std::vector<double> class_shares_;       // [classes]
  double log_p_ = 0;
};

}  // namespace ps

#endif  // TENSOR_CPU_CPU_CTC_LATTICE_H_
