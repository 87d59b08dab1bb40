#include "tensor/cuda/sequences/cuda_recurrent.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/row_sums.h"
#include "tensor/cuda/sequences/cell_cores.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

constexpr int64_t kFloatBytes = static_cast<int64_t>(sizeof(float));

class CudaRecurrent final : public RecurrentOp {
 public:
  CudaRecurrent(LayerDevice* device, const RecurrentShape& shape,
                const Shape& input)
      : device_(device),
        is_lstm_(shape.cell == RecurrentShape::Cell::kLstm),
        steps_(input[0]),
        batch_(input[1]),
        features_(input[2]),
        hidden_(shape.hidden),
        rows_(shape.num_gates() * shape.hidden),
        output_(ActivationDesc::Plain({steps_, batch_, hidden_})) {}

  absl::Status Allocate() {
    const auto allocate = [&](int64_t n,
                              DeviceArray<float>* array) -> absl::Status {
      PS_ASSIGN_OR_RETURN(*array, DeviceArray<float>::Create(device_, n));
      num_floats_ += n;
      return absl::OkStatus();
    };
    const int64_t step_gates = batch_ * rows_;
    const int64_t states = (steps_ + 1) * state_size();
    PS_RETURN_IF_ERROR(allocate(steps_ * step_gates, &gates_));
    PS_RETURN_IF_ERROR(
        allocate((is_lstm_ ? 1 : steps_) * step_gates, &recurrent_));
    PS_RETURN_IF_ERROR(allocate(states, &hiddens_));
    PS_RETURN_IF_ERROR(allocate(state_size(), &dhidden_));
    if (is_lstm_) {
      PS_RETURN_IF_ERROR(allocate(states, &cells_));
      PS_RETURN_IF_ERROR(allocate(state_size(), &dcell_));
    }
    return device_->ReserveScratch(RowSumsScratchBytes(steps_ * batch_, rows_));
  }

  const ActivationDesc& output() const override { return output_; }
  int64_t num_floats() const override { return num_floats_; }
  absl::Duration cell_time() const override { return absl::ZeroDuration(); }

  // The memory is cleared by the next Forward, which can report an error.
  void ResetState() override { state_is_zero_ = true; }

  absl::Status Forward(const float* x, const Weights& weights,
                       float* y) override {
    PS_RETURN_IF_ERROR(CarryState(hiddens_));
    if (is_lstm_) PS_RETURN_IF_ERROR(CarryState(cells_));
    state_is_zero_ = false;
    MatrixProduct input;
    input.m = steps_ * batch_, input.n = rows_, input.k = features_;
    input.transpose_b = true;
    input.a = x, input.b = weights.input, input.c = gates_.data();
    PS_RETURN_IF_ERROR(device_->Multiply(input));
    for (int64_t t = 0; t < steps_; ++t) {
      MatrixProduct product;
      product.m = batch_, product.n = rows_, product.k = hidden_;
      product.transpose_b = true;
      product.a = Hidden(t), product.b = weights.recurrent;
      product.c = Recurrent(t);
      PS_RETURN_IF_ERROR(device_->Multiply(product));
      CellForwardStep step;
      step.hidden = Divisor(hidden_);
      step.gates = Gates(t);
      step.recurrent = Recurrent(t);
      step.input_bias = weights.input_bias;
      step.recurrent_bias = weights.recurrent_bias;
      step.hidden_before = Hidden(t);
      step.cell_before = is_lstm_ ? Cell(t) : nullptr;
      step.cell = is_lstm_ ? Cell(t + 1) : nullptr;
      step.hidden_after = Hidden(t + 1);
      step.y = y + t * state_size();
      PS_RETURN_IF_ERROR(RunCells(step));
    }
    return absl::OkStatus();
  }

  absl::Status Backward(const BackwardArguments& a) override {
    PS_RETURN_IF_ERROR(BackwardThroughTime(a));
    const int64_t frames = steps_ * batch_;
    // The gradients of all steps' products with the input, and with the state.
    const float* const dinput = gates_.data();
    const float* const drecurrent =
        is_lstm_ ? gates_.data() : recurrent_.data();
    MatrixProduct product;
    product.m = rows_, product.n = features_, product.k = frames;
    product.transpose_a = true;
    product.a = dinput, product.b = a.x, product.c = a.gradients.input;
    PS_RETURN_IF_ERROR(device_->Multiply(product));
    product.n = hidden_;
    product.a = drecurrent, product.b = hiddens_.data();
    product.c = a.gradients.recurrent;
    PS_RETURN_IF_ERROR(device_->Multiply(product));
    PS_RETURN_IF_ERROR(
        SumRows(device_, dinput, frames, rows_, a.gradients.input_bias));
    if (is_lstm_) {
      PS_RETURN_IF_ERROR(device_->Copy(a.gradients.input_bias,
                                       rows_ * kFloatBytes,
                                       a.gradients.recurrent_bias));
    } else {
      PS_RETURN_IF_ERROR(SumRows(device_, drecurrent, frames, rows_,
                                 a.gradients.recurrent_bias));
    }
    if (a.dx == nullptr) return absl::OkStatus();
    MatrixProduct dx;
    dx.m = frames, dx.n = features_, dx.k = rows_;
    dx.a = dinput, dx.b = a.weights.input, dx.c = a.dx;
    return device_->Multiply(dx);
  }

 private:
  int64_t state_size() const { return batch_ * hidden_; }

  float* Gates(int64_t t) { return gates_.data() + t * batch_ * rows_; }
  float* Hidden(int64_t t) { return hiddens_.data() + t * state_size(); }
  float* Cell(int64_t t) { return cells_.data() + t * state_size(); }
  // The LSTM needs it within the step only.
  float* Recurrent(int64_t t) {
    return recurrent_.data() + (is_lstm_ ? 0 : t) * batch_ * rows_;
  }

  // The last state, or zero, becomes the first.
  absl::Status CarryState(const DeviceArray<float>& states) {
    const int64_t size_bytes = state_size() * kFloatBytes;
    if (state_is_zero_) return device_->Zero(size_bytes, states.data());
    return device_->Copy(states.data() + steps_ * state_size(), size_bytes,
                         states.data());
  }

  absl::Status RunCells(const CellForwardStep& step) {
    if (is_lstm_) return device_->Run(LstmForwardCore{{}, step}, state_size());
    return device_->Run(GruForwardCore{{}, step}, state_size());
  }
  absl::Status RunCells(const CellBackwardStep& step) {
    if (is_lstm_) return device_->Run(LstmBackwardCore{{}, step}, state_size());
    return device_->Run(GruBackwardCore{{}, step}, state_size());
  }

  // Turns the gates into their gradients, last step first.
  absl::Status BackwardThroughTime(const BackwardArguments& a) {
    PS_RETURN_IF_ERROR(device_->Zero(dhidden_.size_bytes(), dhidden_.data()));
    if (is_lstm_) {
      PS_RETURN_IF_ERROR(device_->Zero(dcell_.size_bytes(), dcell_.data()));
    }
    for (int64_t t = steps_ - 1; t >= 0; --t) {
      CellBackwardStep step;
      step.hidden = Divisor(hidden_);
      step.gates = Gates(t);
      step.recurrent = is_lstm_ ? nullptr : Recurrent(t);
      step.hidden_before = Hidden(t);
      step.cell_before = is_lstm_ ? Cell(t) : nullptr;
      step.cell = is_lstm_ ? Cell(t + 1) : nullptr;
      step.dy = a.dy + t * state_size();
      step.dhidden = dhidden_.data();
      step.dcell = is_lstm_ ? dcell_.data() : nullptr;
      PS_RETURN_IF_ERROR(RunCells(step));
      // Nobody asks for the gradient of the state that was given.
      if (t == 0) break;
      MatrixProduct product;
      product.m = batch_, product.n = hidden_, product.k = rows_;
      // The GRU's state also goes on by itself.
      product.accumulate = !is_lstm_;
      product.a = is_lstm_ ? Gates(t) : Recurrent(t);
      product.b = a.weights.recurrent;
      product.c = dhidden_.data();
      PS_RETURN_IF_ERROR(device_->Multiply(product));
    }
    return absl::OkStatus();
  }

  LayerDevice* const device_;  // Not owned.
  const bool is_lstm_;         // Else a GRU.
  const int64_t steps_;
  const int64_t batch_;
  const int64_t features_;
  const int64_t hidden_;
  const int64_t rows_;  // Of the weights: gates x hidden.
  const ActivationDesc output_;
  int64_t num_floats_ = 0;
  bool state_is_zero_ = true;
  DeviceArray<float> gates_;      // [steps, batch, rows]
  DeviceArray<float> recurrent_;  // [steps or 1, batch, rows]
  DeviceArray<float> hiddens_;    // [steps + 1, batch, hidden]; 0: as given.
  DeviceArray<float> cells_;      // The same of the LSTM's cells.
  DeviceArray<float> dhidden_;    // [batch, hidden]
  DeviceArray<float> dcell_;      // [batch, hidden]; LSTM.
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanCudaRecurrent(
    LayerDevice* device, const RecurrentShape& shape,
    const ActivationDesc& input) {
  if (input.shape.size() != 3 || NumElements(input.shape) < 1 ||
      input.layout != nullptr || shape.hidden < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "recurrent layer from ", ShapeString(input.shape), " to ", shape.hidden,
        " units: needs plain [steps, batch, features], each at least 1, and "
        "at least one unit"));
  }
  auto op = std::make_unique<CudaRecurrent>(device, shape, input.shape);
  PS_RETURN_IF_ERROR(op->Allocate());
  return op;
}

}  // namespace ps
