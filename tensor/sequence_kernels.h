// The interface of the operations that layers over sequences need from a
// device. Activations are [steps, batch, features] in row-major order and so
// time-major: one step of all rows is one block of memory. Their elements may
// be other than floats if the layout says so.
#ifndef TENSOR_SEQUENCE_KERNELS_H_
#define TENSOR_SEQUENCE_KERNELS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tensor/ctc_loss.h"
#include "tensor/nn_kernels.h"

namespace ps {

struct EmbeddingShape {
  int64_t num_rows = 0;  // At most 2^24: tokens are floats.
  int64_t features = 0;
};

// Looks up rows of a table: y[t, b] = table[tokens[t, b]].
class EmbeddingOp {
 public:
  virtual ~EmbeddingOp() = default;
  // The output [steps, batch, features].
  virtual const ActivationDesc& output() const = 0;

  // Looks up rows. tokens: [steps, batch], whole numbers. table: [num_rows,
  // features]. Errors: kInvalidArgument for a token that is not a row number.
  virtual absl::Status Forward(const float* tokens, const float* table,
                               float* y) = 0;

  // Adds dy[t, b] to the row of dtable that the latest Forward took for [t, b],
  // in the order of [t, b]. All other rows stay unchanged.
  virtual absl::Status AddGradient(const float* dy, float* dtable) = 0;
};

struct RecurrentShape {
  enum class Cell {
    // Long short-term memory: Hochreiter and Schmidhuber, Neural Computation 9
    // (1997), with the forget gate of Gers et al. (2000):
    //   i, f, o = sigmoid, g = tanh of W_ih x + b_ih + W_hh h + b_hh,
    //   c' = f c + i g,  h' = o tanh(c').
    // The weights' rows are in blocks: i, f, g, o.
    kLstm,
    // Gated recurrent unit: Cho et al., EMNLP 2014, with the reset gate after
    // the product, as in cuDNN and PyTorch:
    //   r, z = sigmoid(W_ih x + b_ih + W_hh h + b_hh),
    //   n = tanh(W_in x + b_in + r (W_hn h + b_hn)),  h' = (1 - z) n + z h.
    // The weights' rows are in blocks: r, z, n.
    kGru,
  };
  Cell cell = Cell::kLstm;
  int64_t hidden = 0;

  int64_t num_gates() const { return cell == Cell::kLstm ? 4 : 3; }
};

// One layer of a recurrent network. It keeps the state after the last step: the
// next Forward starts from this state, and no gradient flows back into it
// (truncated back-propagation through time).
class RecurrentOp {
 public:
  virtual ~RecurrentOp() = default;
  // The output [steps, batch, hidden].
  virtual const ActivationDesc& output() const = 0;

  // The weights in the layouts of PyTorch's nn.LSTM and nn.GRU; `rows` is
  // num_gates x hidden.
  struct Weights {
    const float* input = nullptr;           // weight_ih [rows, features]
    const float* recurrent = nullptr;       // weight_hh [rows, hidden]
    const float* input_bias = nullptr;      // bias_ih [rows]
    const float* recurrent_bias = nullptr;  // bias_hh [rows]
  };
  struct Gradients {
    float* input = nullptr;
    float* recurrent = nullptr;
    float* input_bias = nullptr;
    float* recurrent_bias = nullptr;
  };

  // The memory that the operation keeps from call to call, in floats.
  virtual int64_t num_floats() const = 0;

  // The time spent on the cells so far; the rest of Forward and Backward is
  // products.
  virtual absl::Duration cell_time() const = 0;

  // Resets the state before the next step to its initial value of zero.
  virtual void ResetState() = 0;

  // Save and load the state, for checkpoints. Save appends the bytes of the
  // state after the last step to *bytes; Load consumes as many from the front
  // of *bytes, which an operation of the same kind and shape saved, on the same
  // kind of device. Errors: kDataLoss if there are too few.
  virtual absl::Status SaveState(std::string* bytes) const = 0;
  virtual absl::Status LoadState(absl::string_view* bytes) = 0;

  // Computes all steps. x: [steps, batch, features].
  virtual absl::Status Forward(const float* x, const Weights& weights,
                               float* y) = 0;

  struct BackwardArguments {
    const float* x = nullptr;
    const float* dy = nullptr;
    Weights weights;
    // These are overwritten. dx may be null.
    float* dx = nullptr;
    Gradients gradients;
  };
  // Backpropagates the latest Forward, with the same x and weights. It may be
  // called only once for each Forward, since it overwrites Forward's
  // intermediate results.
  virtual absl::Status Backward(const BackwardArguments& arguments) = 0;
};

// The reduction of the steps of a sequence: the last one, or the mean over all,
// summed in float from the first to the last.
enum class StepReduction { kLast, kMean };

// Windows over the frames of a sequence: frame t of the output is the
// concatenation of the input's frames t x stride - before + [0, window), with
// zeros in place of frames outside the input. With stride = window and before =
// 0 a sequence becomes `window` times shorter; with stride 1 every frame sees
// its neighbours.
struct FrameWindowShape {
  int64_t window = 1;
  int64_t stride = 1;
  int64_t before = 0;  // In [0, window).

  // Returns the frames of the output: ceil(frames / stride).
  int64_t OutputFrames(int64_t frames) const {
    return (frames + stride - 1) / stride;
  }
};

// The kernels. Errors of every Plan: kInvalidArgument, naming the shapes, when
// they do not fit together.
class SequenceKernels {
 public:
  virtual ~SequenceKernels() = default;

  // Implements Backend::UseThreads.
  virtual void UseThreads(int) {}

  // Plans a table lookup. tokens: plain [steps, batch].
  virtual absl::StatusOr<std::unique_ptr<EmbeddingOp>> PlanEmbedding(
      const EmbeddingShape& shape, const ActivationDesc& tokens) = 0;
  // Plans a recurrent layer. input: [steps, batch, features].
  virtual absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanRecurrent(
      const RecurrentShape& shape, const ActivationDesc& input) = 0;
  // Plans a linear layer at every step: [steps, batch, features] to [steps,
  // batch, out_features].
  virtual absl::StatusOr<std::unique_ptr<AffineOp>> PlanSequenceLinear(
      int64_t out_features, const ActivationDesc& input) = 0;
  // Plans the CTC loss. logits: plain [steps, batch, classes].
  virtual absl::StatusOr<std::unique_ptr<CtcLossOp>> PlanCtcLoss(
      const ActivationDesc& logits) = 0;
  // Plans windows. input: [steps, batch, features]. Output:
  // [OutputFrames(steps), batch, window x features].
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanFrameWindow(
      const FrameWindowShape& shape, const ActivationDesc& input) = 0;
  // Plans a reduction. input: [steps, batch, features]. Output: [batch,
  // features]. Backward reads neither x nor y.
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanStepReduction(
      StepReduction reduction, const ActivationDesc& input) = 0;
};

}  // namespace ps

#endif  // TENSOR_SEQUENCE_KERNELS_H_
