// Computes the CTC loss of one example: all paths through its frames that spell
// its transcript.
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
  int64_t stride = 0;  // The distance from one frame to the next.
  int64_t classes = 0;
};

// The working memory for one example at a time. Not thread-safe.
class CtcLattice {
 public:
  CtcLattice(int64_t steps, int64_t classes);

  // Allocates memory for transcripts of up to `num_labels` labels; call it
  // before the examples of a batch. Allocates only if that is more than in all
  // previous calls.
  void Reserve(int64_t num_labels);

  // Returns -ln p; NaN if a logit is not finite. There must be at most `steps`
  // frames, enough for the transcript, and memory for its labels must have been
  // reserved.
  double Loss(const CtcFrames& frames, absl::Span<const int32_t> labels);

  // Writes the gradient of `scale` x the latest Loss, which must have been
  // finite and for the same frames. `gradient` has the layout of the logits.
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
  // State 2 i + 1 is label i; the even states are the blanks around the labels.
  int64_t num_states_ = 0;
  // The number of states of a row, rounded up for the vector loops.
  int64_t padded_ = 0;
  std::vector<int32_t> state_classes_;  // [num_states]
  // 0 (ln 1) if a path may skip to the state, past the one before it.
  std::vector<double> skip_weight_;
  // Logarithms, in arrays rather than vectors to leave the memory
  // uninitialised.
  std::unique_ptr<double[]> log_softmax_;  // [frames, classes]
  std::unique_ptr<double[]> forward_;      // [frames], rows with an edge.
  std::vector<double> backward_[2];        // For this frame and the next.
  std::vector<double> emission_;           // For this frame.
  std::vector<double> shares_;             // For each state in this frame.
  std::vector<double> class_shares_;       // [classes]
  double log_p_ = 0;
};

}  // namespace ps

#endif  // TENSOR_CPU_CPU_CTC_LATTICE_H_
