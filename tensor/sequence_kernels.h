// What layers over sequences need from a device: activations [steps, batch,
// features], row-major and so time-major: one step of all rows is one block of
// memory. Their elements may be other than floats where the layout says so.
#ifndef TENSOR_SEQUENCE_KERNELS_H_
#define TENSOR_SEQUENCE_KERNELS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tensor/ctc_loss.h"
#include "tensor/nn_kernels.h"

namespace ps {

struct EmbeddingShape {
  int64_t num_rows = 0;  // At most 2^24: tokens are floats.
  int64_t features = 0;
};

// Rows of a table, by number: y[t, b] = table[tokens[t, b]].
class EmbeddingOp {
 public:
  virtual ~EmbeddingOp() = default;
  // [steps, batch, features].
  virtual const ActivationDesc& output() const = 0;

  // tokens: [steps, batch], whole numbers. table: [num_rows, features].
  // Errors: kInvalidArgument for a token that is no row's number.
  virtual absl::Status Forward(const float* tokens, const float* table,
                               float* y) = 0;

  // Adds dy[t, b] to the row of dtable that the latest Forward took for
  // [t, b], in the order of [t, b]. All other rows stay as they are.
  virtual absl::Status AddGradient(const float* dy, float* dtable) = 0;
};

struct RecurrentShape {
  enum class Cell {
    // Long short-term memory: Hochreiter and Schmidhuber, Neural Computation 9
    // (1997), with the forget gate of Gers et al. (2000):
    //   i, f, o = sigmoid, g = tanh of W_ih x + b_ih + W_hh h + b_hh,
    //   c' = f c + i g,  h' = o tanh(c').
    // Blocks of the weights' rows: i, f, g, o.
    kLstm,
    // Gated recurrent unit: Cho et al., EMNLP 2014, with the reset gate after
    // the product, as cuDNN and PyTorch have it:
    //   r, z = sigmoid(W_ih x + b_ih + W_hh h + b_hh),
    //   n = tanh(W_in x + b_in + r (W_hn h + b_hn)),  h' = (1 - z) n + z h.
    // Blocks of the weights' rows: r, z, n.
    kGru,
  };
  Cell cell = Cell::kLstm;
  int64_t hidden = 0;

  int64_t num_gates() const { return cell == Cell::kLstm ? 4 : 3; }
};

// One layer of a recurrent network. Keeps the state that the last step leaves:
// the next Forward starts from it, and no gradient flows back into it
// (truncated back-propagation through time).
class RecurrentOp {
 public:
  virtual ~RecurrentOp() = default;
  // [steps, batch, hidden].
  virtual const ActivationDesc& output() const = 0;

  // Layouts of PyTorch's nn.LSTM and nn.GRU; `rows` is num_gates x hidden.
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

  // Memory that it keeps from call to call, in floats.
  virtual int64_t num_floats() const = 0;

  // Spent on the cells so far; the rest of Forward and Backward are products.
  virtual absl::Duration cell_time() const = 0;

  // The state before the next step is zero, as it is at first.
  virtual void ResetState() = 0;

  // x: [steps, batch, features].
  virtual absl::Status Forward(const float* x, const Weights& weights,
                               float* y) = 0;

  struct BackwardArguments {
    const float* x = nullptr;
    const float* dy = nullptr;
    Weights weights;
    // Overwritten. dx may be null.
    float* dx = nullptr;
    Gradients gradients;
  };
  // Belongs to the latest Forward, with the same x and weights; once for each,
  // since it works in what Forward left.
  virtual absl::Status Backward(const BackwardArguments& arguments) = 0;
};

// Windows over the frames of a sequence: frame t of the output holds frames
// t x stride - before + [0, window) of the input one after the other, zeros
// where there are none. With stride = window and nothing before it a sequence
// becomes `window` times as short; with stride 1 every frame sees its
// neighbours.
struct FrameWindowShape {
  int64_t window = 1;
  int64_t stride = 1;
  int64_t before = 0;  // In [0, window).

  // Frames that come out for so many that go in: ceil(frames / stride).
  int64_t OutputFrames(int64_t frames) const {
    return (frames + stride - 1) / stride;
  }
};

// Errors of every Plan: kInvalidArgument, naming the shapes, when they do not
// fit together.
class SequenceKernels {
 public:
  virtual ~SequenceKernels() = default;

  // tokens: plain [steps, batch].
  virtual absl::StatusOr<std::unique_ptr<EmbeddingOp>> PlanEmbedding(
      const EmbeddingShape& shape, const ActivationDesc& tokens) = 0;
  // input: [steps, batch, features].
  virtual absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanRecurrent(
      const RecurrentShape& shape, const ActivationDesc& input) = 0;
  // The same linear layer at every step: [steps, batch, features] to
  // [steps, batch, out_features].
  virtual absl::StatusOr<std::unique_ptr<AffineOp>> PlanSequenceLinear(
      int64_t out_features, const ActivationDesc& input) = 0;
  // logits: plain [steps, batch, classes].
  virtual absl::StatusOr<std::unique_ptr<CtcLossOp>> PlanCtcLoss(
      const ActivationDesc& logits) = 0;
  // input: [steps, batch, features]. Output:
  // [OutputFrames(steps), batch, window x features].
  virtual absl::StatusOr<std::unique_ptr<UnaryOp>> PlanFrameWindow(
      const FrameWindowShape& shape, const ActivationDesc& input) = 0;
};

}  // namespace ps

#endif  // TENSOR_SEQUENCE_KERNELS_H_
