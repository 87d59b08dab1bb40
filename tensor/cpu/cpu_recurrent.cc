#include "tensor/cpu/cpu_recurrent.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_bias.h"
#include "tensor/cpu/cpu_cell_loops.h"
#include "tensor/cpu/gemm.h"
#include "tensor/cpu/packed_gemm.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The number of batch rows that a thread takes at a time.
constexpr int64_t kRowsPerChunk = 4;

class CpuRecurrent final : public RecurrentOp {
 public:
  CpuRecurrent(ThreadPool* pool, SharedScratch* scratch,
               const RecurrentShape& shape, const ActivationDesc& input)
      : pool_(pool),
        scratch_(scratch),
        is_lstm_(shape.cell == RecurrentShape::Cell::kLstm),
        steps_(input.shape[0]),
        batch_(input.shape[1]),
        features_(input.shape[2]),
        hidden_(shape.hidden),
        rows_(shape.num_gates() * shape.hidden),
        forward_shape_({hidden_, rows_}),
        backward_shape_({rows_, hidden_}),
        output_(ActivationDesc::Plain({steps_, batch_, hidden_})),
        gates_(steps_ * batch_ * rows_),
        recurrent_((is_lstm_ ? 1 : steps_) * batch_ * rows_),
        hiddens_((steps_ + 1) * batch_ * hidden_),
        cells_(is_lstm_ ? hiddens_.size() : 0),
        dhidden_(batch_ * hidden_),
        dcell_(is_lstm_ ? dhidden_.size() : 0) {}

  const ActivationDesc& output() const override { return output_; }

  int64_t num_floats() const override {
    return static_cast<int64_t>(gates_.size() + recurrent_.size() +
                                hiddens_.size() + cells_.size() +
                                dhidden_.size() + dcell_.size());
  }

  absl::Duration cell_time() const override { return cell_time_; }

  absl::Status ReserveScratch() {
    return scratch_->Reserve(
        std::max(forward_shape_.num_floats(), backward_shape_.num_floats()));
  }

  void ResetState() override {
    std::fill(hiddens_.begin() + steps_ * state_size(), hiddens_.end(), 0);
    if (is_lstm_) {
      std::fill(cells_.begin() + steps_ * state_size(), cells_.end(), 0);
    }
  }

  absl::Status SaveState(std::string* bytes) const override {
    for (const std::vector<float>* states : {&hiddens_, &cells_}) {
      if (states->empty()) continue;
      bytes->append(
          reinterpret_cast<const char*>(&*(states->end() - state_size())),
          state_bytes());
    }
    return absl::OkStatus();
  }

  absl::Status LoadState(absl::string_view* bytes) override {
    for (std::vector<float>* states : {&hiddens_, &cells_}) {
      if (states->empty()) continue;
      if (bytes->size() < state_bytes()) return TooShort(state_bytes());
      std::memcpy(&*(states->end() - state_size()), bytes->data(),
                  state_bytes());
      bytes->remove_prefix(state_bytes());
    }
    return absl::OkStatus();
  }

  absl::Status Forward(const float* x, const Weights& weights,
                       float* y) override {
    CarryState(&hiddens_);
    if (is_lstm_) CarryState(&cells_);
    GemmShape input;
    input.m = steps_ * batch_, input.n = rows_, input.k = features_;
    input.transpose_b = true;
    PS_RETURN_IF_ERROR(Multiply(input, x, weights.input, gates_.data()));
    Pack(pool_, forward_shape_, weights.recurrent, /*transposed=*/true,
         scratch_->data());
    for (int64_t t = 0; t < steps_; ++t) {
      PackedProduct product;
      product.m = batch_;
      product.shape = forward_shape_;
      product.a = Hidden(t);
      product.packed = scratch_->data();
      product.c = Recurrent(t);
      MultiplyPacked(pool_, product);
      ForEachRow([&](int64_t b) {
        CellForward row;
        row.hidden = hidden_;
        row.gates = Gates(t) + b * rows_;
        row.recurrent = Recurrent(t) + b * rows_;
        row.input_bias = weights.input_bias;
        row.recurrent_bias = weights.recurrent_bias;
        row.hidden_before = Hidden(t) + b * hidden_;
        row.hidden_after = Hidden(t + 1) + b * hidden_;
        row.y = y + t * state_size() + b * hidden_;
        if (is_lstm_) {
          row.cell_before = Cell(t) + b * hidden_;
          row.cell = Cell(t + 1) + b * hidden_;
          LstmForward(row);
        } else {
          GruForward(row);
        }
      });
    }
    return absl::OkStatus();
  }

  absl::Status Backward(const BackwardArguments& a) override {
    BackwardThroughTime(a);
    // The gradients of all steps' products with the input and with the state.
    const float* const dinput = gates_.data();
    const float* const drecurrent =
        is_lstm_ ? gates_.data() : recurrent_.data();
    GemmShape product;
    product.m = rows_, product.n = features_, product.k = steps_ * batch_;
    product.transpose_a = true;
    PS_RETURN_IF_ERROR(Multiply(product, dinput, a.x, a.gradients.input));
    product.n = hidden_;
    PS_RETURN_IF_ERROR(
        Multiply(product, drecurrent, hiddens_.data(), a.gradients.recurrent));
    SumRows(pool_, dinput, steps_ * batch_, rows_, a.gradients.input_bias);
    if (is_lstm_) {
      std::copy(a.gradients.input_bias, a.gradients.input_bias + rows_,
                a.gradients.recurrent_bias);
    } else {
      SumRows(pool_, drecurrent, steps_ * batch_, rows_,
              a.gradients.recurrent_bias);
    }
    if (a.dx == nullptr) return absl::OkStatus();
    GemmShape dx;
    dx.m = steps_ * batch_, dx.n = features_, dx.k = rows_;
    return Multiply(dx, dinput, a.weights.input, a.dx);
  }

 private:
  static absl::Status TooShort(size_t size) {
    return absl::DataLossError(absl::StrCat(
        "the state of a recurrent layer ends before its ", size, " bytes"));
  }

  int64_t state_size() const { return batch_ * hidden_; }
  size_t state_bytes() const {
    return static_cast<size_t>(state_size()) * sizeof(float);
  }

  float* Gates(int64_t t) { return gates_.data() + t * batch_ * rows_; }
  float* Hidden(int64_t t) { return hiddens_.data() + t * state_size(); }
  float* Cell(int64_t t) { return cells_.data() + t * state_size(); }
  // Returns a buffer; the LSTM needs it only within the step.
  float* Recurrent(int64_t t) {
    return recurrent_.data() + (is_lstm_ ? 0 : t) * batch_ * rows_;
  }

  // Copies the last state to the first.
  void CarryState(std::vector<float>* states) const {
    std::copy(states->end() - state_size(), states->end(), states->begin());
  }

  absl::Status Multiply(const GemmShape& shape, const float* a, const float* b,
                        float* c) const {
    return Gemm(pool_->num_threads(), shape, a, b, c);
  }

  template <typename Body>
  void ForEachRow(const Body& body) {
    const absl::Time start = SteadyClock()->Now();
    pool_->ParallelFor(batch_, kRowsPerChunk, [&](const ChunkRange& rows) {
      for (int64_t b = rows.begin; b < rows.end; ++b) body(b);
    });
    cell_time_ += SteadyClock()->Now() - start;
  }

  // Replaces the gates by their gradients, last step first.
  void BackwardThroughTime(const BackwardArguments& a) {
    std::fill(dhidden_.begin(), dhidden_.end(), 0);
    std::fill(dcell_.begin(), dcell_.end(), 0);
    Pack(pool_, backward_shape_, a.weights.recurrent, /*transposed=*/false,
         scratch_->data());
    for (int64_t t = steps_ - 1; t >= 0; --t) {
      ForEachRow([&](int64_t b) {
        CellBackward row;
        row.hidden = hidden_;
        row.gates = Gates(t) + b * rows_;
        row.hidden_before = Hidden(t) + b * hidden_;
        row.dy = a.dy + t * state_size() + b * hidden_;
        row.dhidden = dhidden_.data() + b * hidden_;
        if (is_lstm_) {
          row.cell_before = Cell(t) + b * hidden_;
          row.cell = Cell(t + 1) + b * hidden_;
          row.dcell = dcell_.data() + b * hidden_;
          LstmBackward(row);
        } else {
          row.recurrent = Recurrent(t) + b * rows_;
          GruBackward(row);
        }
      });
      // The gradient of the initial state is not needed.
      if (t == 0) break;
      PackedProduct product;
      product.m = batch_;
      product.shape = backward_shape_;
      product.a = is_lstm_ ? Gates(t) : Recurrent(t);
      product.packed = scratch_->data();
      // The GRU's state also reaches the next step directly.
      product.accumulate = !is_lstm_;
      product.c = dhidden_.data();
      MultiplyPacked(pool_, product);
    }
  }

  ThreadPool* const pool_;        // Not owned.
  SharedScratch* const scratch_;  // The packed recurrent weights; not owned.
  const bool is_lstm_;            // If false, a GRU.
  const int64_t steps_;
  const int64_t batch_;
  const int64_t features_;
  const int64_t hidden_;
  const int64_t rows_;               // Rows of the weights: gates x hidden.
  const PackedShape forward_shape_;  // For the transposed weights.
  // The shape of the packed weights for Backward.
  const PackedShape backward_shape_;
  const ActivationDesc output_;
  std::vector<float> gates_;      // [steps, batch, rows]
  std::vector<float> recurrent_;  // [steps or 1, batch, rows]
  // [steps + 1, batch, hidden]; the first is the initial state.
  std::vector<float> hiddens_;
  std::vector<float> cells_;    // Like hiddens_, for the LSTM's cells.
  std::vector<float> dhidden_;  // [batch, hidden]
  std::vector<float> dcell_;    // [batch, hidden]
  absl::Duration cell_time_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanCpuRecurrent(
    ThreadPool* pool, SharedScratch* scratch, const RecurrentShape& shape,
    const ActivationDesc& input) {
  if (input.shape.size() != 3 || NumElements(input.shape) < 1 ||
      input.layout != nullptr || shape.hidden < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "recurrent layer from ", ShapeString(input.shape), " to ", shape.hidden,
        " units: needs plain [steps, batch, features], each at least 1, and "
        "at least one unit"));
  }
  auto op = std::make_unique<CpuRecurrent>(pool, scratch, shape, input);
  PS_RETURN_IF_ERROR(op->ReserveScratch());
  return op;
}

}  // namespace ps
