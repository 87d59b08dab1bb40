// LSTM and GRU on CUDA, computed by cuDNN if it is asked to, else by products,
// and one kernel for the cells of a step: the work between the products of that
// step, for all rows of the batch. Equations: tensor/sequence_kernels.h; the
// steps are the same as in tensor/cpu/cpu_cell_loops.cc.

#include <math.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/channel_geometry.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/cuda/nn/activation.cuh"
#include "tensor/cuda/nn/bias.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/reorder.h"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"
#include "tensor/cuda/sequences/cudnn_recurrent.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

constexpr int64_t kFloatBytes = static_cast<int64_t>(sizeof(float));

// One forward step. Gates are [batch, gates x hidden], biases [gates x hidden],
// everything else [batch, hidden]. T is the type of the products' factors and
// of the activations; the state is floats.
template <typename T>
struct CellForwardStep {
  Divisor hidden;
  float* gates;      // In: W_ih x. Out: the gates' values, for backward.
  float* recurrent;  // W_hh h. GRU: the n part becomes W_hn h + b_hn.
  const float* input_bias;
  const float* recurrent_bias;
  const float* hidden_before;  // GRU.
  const float* cell_before;    // LSTM.
  float* cell;                 // LSTM.
  // h', written for the next step's cell (GRU), for its products, and for the
  // next layer. The first two may be one array.
  float* hidden_after;
  T* factor_after;
  T* y;
};

// The same step backward.
template <typename T>
struct CellBackwardStep {
  Divisor hidden;
  const float* gates;      // As the forward step left them.
  const float* recurrent;  // GRU: as the forward step left it.
  // The gradients of W_ih x and, for the GRU, of W_hh h. They may be the same
  // arrays as `gates` and `recurrent`.
  T* dgates;
  T* drecurrent;
  const float* hidden_before;  // GRU.
  const float* cell_before;    // LSTM.
  const float* cell;           // LSTM.
  const T* dy;
  // In: the gradient of h' from the next step. GRU only, out: the part of the
  // gradient of h that does not pass through W_hh.
  float* dhidden;
  float* dcell;  // LSTM. In: the gradient of c'. Out: that of c.
};

template <typename T>
__device__ void LstmForward(const CellForwardStep<T>& step, int64_t element) {
  int64_t j = 0;
  const int64_t row = step.hidden.Divide(element, &j);
  const int64_t n = step.hidden.value();
  float* const gates = step.gates + row * 4 * n;
  const float* const recurrent = step.recurrent + row * 4 * n;
  float sums[4];
  for (int gate = 0; gate < 4; ++gate) {
    const int64_t k = gate * n + j;
    sums[gate] = (gates[k] + recurrent[k]) +
                 (step.input_bias[k] + step.recurrent_bias[k]);
  }
  const float i = Sigmoid(sums[0]);
  const float f = Sigmoid(sums[1]);
  const float g = tanhf(sums[2]);
  const float o = Sigmoid(sums[3]);
  const float c = fmaf(f, step.cell_before[element], i * g);
  const float h = o * tanhf(c);
  gates[j] = i;
  gates[n + j] = f;
  gates[2 * n + j] = g;
  gates[3 * n + j] = o;
  step.cell[element] = c;
  step.factor_after[element] = h;
  step.y[element] = h;
}

template <typename T>
__device__ void LstmBackward(const CellBackwardStep<T>& step, int64_t element) {
  int64_t j = 0;
  const int64_t row = step.hidden.Divide(element, &j);
  const int64_t n = step.hidden.value();
  const float* const gates = step.gates + row * 4 * n;
  const float i = gates[j];
  const float f = gates[n + j];
  const float g = gates[2 * n + j];
  const float o = gates[3 * n + j];
  const float tanh_c = tanhf(step.cell[element]);
  const float dh = step.dy[element] + step.dhidden[element];
  const float dc = fmaf(dh * o, TanhSlope(tanh_c), step.dcell[element]);
  T* const dgates = step.dgates + row * 4 * n;
  dgates[j] = dc * g * SigmoidSlope(i);
  dgates[n + j] = dc * step.cell_before[element] * SigmoidSlope(f);
  dgates[2 * n + j] = dc * i * TanhSlope(g);
  dgates[3 * n + j] = dh * tanh_c * SigmoidSlope(o);
  step.dcell[element] = dc * f;
}

template <typename T>
__device__ void GruForward(const CellForwardStep<T>& step, int64_t element) {
  int64_t j = 0;
  const int64_t row = step.hidden.Divide(element, &j);
  const int64_t n = step.hidden.value();
  float* const gates = step.gates + row * 3 * n;
  float* const recurrent = step.recurrent + row * 3 * n;
  float inputs[3], recurrents[3];
  for (int gate = 0; gate < 3; ++gate) {
    const int64_t k = gate * n + j;
    inputs[gate] = gates[k] + step.input_bias[k];
    recurrents[gate] = recurrent[k] + step.recurrent_bias[k];
  }
  const float r = Sigmoid(inputs[0] + recurrents[0]);
  const float z = Sigmoid(inputs[1] + recurrents[1]);
  const float tanh_n = tanhf(fmaf(r, recurrents[2], inputs[2]));
  // Computes n + z (h - n).
  const float h = fmaf(z, step.hidden_before[element] - tanh_n, tanh_n);
  gates[j] = r;
  gates[n + j] = z;
  gates[2 * n + j] = tanh_n;
  recurrent[2 * n + j] = recurrents[2];
  step.hidden_after[element] = h;
  step.factor_after[element] = h;
  step.y[element] = h;
}

template <typename T>
__device__ void GruBackward(const CellBackwardStep<T>& step, int64_t element) {
  int64_t j = 0;
  const int64_t row = step.hidden.Divide(element, &j);
  const int64_t n = step.hidden.value();
  const float* const gates = step.gates + row * 3 * n;
  const float* const recurrent = step.recurrent + row * 3 * n;
  const float r = gates[j];
  const float z = gates[n + j];
  const float tanh_n = gates[2 * n + j];
  const float candidate = recurrent[2 * n + j];
  const float dh = step.dy[element] + step.dhidden[element];
  const float dz =
      dh * (step.hidden_before[element] - tanh_n) * SigmoidSlope(z);
  const float dn = (dh - dh * z) * TanhSlope(tanh_n);
  const float dr = dn * candidate * SigmoidSlope(r);
  T* const dgates = step.dgates + row * 3 * n;
  T* const drecurrent = step.drecurrent + row * 3 * n;
  dgates[j] = dr;
  dgates[n + j] = dz;
  dgates[2 * n + j] = dn;
  drecurrent[j] = dr;
  drecurrent[n + j] = dz;
  drecurrent[2 * n + j] = dn * r;
  step.dhidden[element] = dh * z;
}

// T is the type of the products' factors and of the output. All else is floats.
template <typename T>
class CudaRecurrent final : public RecurrentOp {
 public:
  CudaRecurrent(LayerDevice* device, const RecurrentShape& shape,
                Storage input_storage, const Shape& input)
      : device_(device),
        is_lstm_(shape.cell == RecurrentShape::Cell::kLstm),
        steps_(input[0]),
        batch_(input[1]),
        features_(input[2]),
        hidden_(shape.hidden),
        rows_(shape.num_gates() * shape.hidden),
        input_(input_storage),
        output_(CudaActivation(device->storage(), {steps_, batch_, hidden_})) {}

  absl::Status Allocate() {
    const int64_t step_gates = batch_ * rows_;
    const int64_t states = (steps_ + 1) * state_size();
    const int64_t recurrent_steps = is_lstm_ ? 1 : steps_;
    PS_RETURN_IF_ERROR(AllocateArray(steps_ * step_gates, &gates_));
    PS_RETURN_IF_ERROR(
        AllocateArray(recurrent_steps * step_gates, &recurrent_));
    PS_RETURN_IF_ERROR(AllocateArray(states, &factors_));
    PS_RETURN_IF_ERROR(AllocateArray(state_size(), &dhidden_));
    if (is_lstm_) {
      PS_RETURN_IF_ERROR(AllocateArray(states, &cells_));
      PS_RETURN_IF_ERROR(AllocateArray(state_size(), &dcell_));
    }
    if constexpr (kCopies) {
      PS_RETURN_IF_ERROR(AllocateArray(steps_ * step_gates, &dgates_));
      if (!is_lstm_) {
        PS_RETURN_IF_ERROR(AllocateArray(steps_ * step_gates, &drecurrent_));
        PS_RETURN_IF_ERROR(AllocateArray(states, &hiddens_));
      }
      PS_RETURN_IF_ERROR(AllocateFactor(rows_ * features_, &input_weights_));
      PS_RETURN_IF_ERROR(AllocateFactor(rows_ * hidden_, &recurrent_weights_));
      if (input_ == Storage::kFloat) {
        PS_RETURN_IF_ERROR(AllocateFactor(steps_ * batch_ * features_, &x_));
      }
    }
    return device_->ReserveScratch(ChannelSumsScratchBytes(gate_geometry()));
  }

  const ActivationDesc& output() const override { return output_; }
  int64_t num_floats() const override {
    return (size_bytes_ + kFloatBytes - 1) / kFloatBytes;
  }
  absl::Duration cell_time() const override { return absl::ZeroDuration(); }

  // The next Forward clears the memory, since it can report an error.
  void ResetState() override { state_is_zero_ = true; }

  absl::Status SaveState(std::string* bytes) const override {
    return AppendBytes(device_, LastState(), state_is_zero_, bytes);
  }

  absl::Status LoadState(absl::string_view* bytes) override {
    state_is_zero_ = false;
    return TakeBytes(device_, LastState(), bytes);
  }

  absl::Status Forward(const float* x, const Weights& weights,
                       float* y) override {
    PS_RETURN_IF_ERROR(CarryState(factors_));
    PS_RETURN_IF_ERROR(CarryState(cells_));
    PS_RETURN_IF_ERROR(CarryState(hiddens_));
    state_is_zero_ = false;
    PS_RETURN_IF_ERROR(x_.Take(device_, x));
    PS_RETURN_IF_ERROR(input_weights_.Take(device_, weights.input));
    PS_RETURN_IF_ERROR(recurrent_weights_.Take(device_, weights.recurrent));
    MatrixProduct input;
    input.m = steps_ * batch_, input.n = rows_, input.k = features_;
    input.transpose_b = true;
    input.factors = device_->storage();
    input.a = x_.of(x), input.b = input_weights_.of(weights.input);
    input.c = gates_.data();
    PS_RETURN_IF_ERROR(device_->Multiply(input));
    for (int64_t t = 0; t < steps_; ++t) {
      MatrixProduct product;
      product.m = batch_, product.n = rows_, product.k = hidden_;
      product.transpose_b = true;
      product.factors = device_->storage();
      product.a = Factor(t);
      product.b = recurrent_weights_.of(weights.recurrent);
      product.c = Recurrent(t);
      PS_RETURN_IF_ERROR(device_->Multiply(product));
      CellForwardStep<T> step;
      step.hidden = Divisor(hidden_);
      step.gates = Gates(t);
      step.recurrent = Recurrent(t);
      step.input_bias = weights.input_bias;
      step.recurrent_bias = weights.recurrent_bias;
      step.hidden_before = Hidden(t);
      step.cell_before = Cell(t);
      step.cell = Cell(t + 1);
      step.hidden_after = Hidden(t + 1);
      step.factor_after = Factor(t + 1);
      step.y = Elements<T>(y) + t * state_size();
      PS_RETURN_IF_ERROR(RunCells(step));
    }
    return absl::OkStatus();
  }

  absl::Status Backward(const BackwardArguments& a) override {
    PS_RETURN_IF_ERROR(BackwardThroughTime(a));
    // The gradients of all steps' products with the input and with the state.
    const T* const dinput = InputGradients(0);
    const T* const drecurrent = RecurrentGradients(0);
    PS_RETURN_IF_ERROR(
        GradientOfWeights(dinput, x_.of(a.x), features_, a.gradients.input));
    PS_RETURN_IF_ERROR(GradientOfWeights(drecurrent, Factor(0), hidden_,
                                         a.gradients.recurrent));
    PS_RETURN_IF_ERROR(SumBias(device_, device_->storage(), gate_geometry(),
                               dinput, a.gradients.input_bias));
    // The LSTM's two biases are only used as a sum, and so have the same
    // gradient.
    PS_RETURN_IF_ERROR(
        is_lstm_ ? device_->Copy(a.gradients.input_bias, rows_ * kFloatBytes,
                                 a.gradients.recurrent_bias)
                 : SumBias(device_, device_->storage(), gate_geometry(),
                           drecurrent, a.gradients.recurrent_bias));
    if (a.dx == nullptr) return absl::OkStatus();
    MatrixProduct dx;
    dx.m = steps_ * batch_, dx.n = features_, dx.k = rows_;
    dx.factors = device_->storage();
    dx.result = input_;
    dx.a = dinput, dx.b = input_weights_.of(a.weights.input), dx.c = a.dx;
    return device_->Multiply(dx);
  }

  absl::Status RunCells(const CellForwardStep<T>& step) {
    return is_lstm_ ? LaunchElements(
                          device_, "LstmForward", state_size(),
                          [=] __device__(int64_t i) { LstmForward(step, i); })
                    : LaunchElements(
                          device_, "GruForward", state_size(),
                          [=] __device__(int64_t i) { GruForward(step, i); });
  }
  absl::Status RunCells(const CellBackwardStep<T>& step) {
    return is_lstm_ ? LaunchElements(
                          device_, "LstmBackward", state_size(),
                          [=] __device__(int64_t i) { LstmBackward(step, i); })
                    : LaunchElements(
                          device_, "GruBackward", state_size(),
                          [=] __device__(int64_t i) { GruBackward(step, i); });
  }

 private:
  // Whether the products' factors are copies of values that are kept as floats.
  static constexpr bool kCopies = !std::is_same_v<T, float>;

  int64_t state_size() const { return batch_ * hidden_; }
  // The gates of all steps as a matrix.
  ChannelGeometry gate_geometry() const {
    return ChannelGeometry(steps_ * batch_, rows_, 1);
  }

  // dweight = dgates' x, where both have a row for each step and example.
  absl::Status GradientOfWeights(const T* dgates, const void* x,
                                 int64_t columns, float* dweight) {
    MatrixProduct product;
    product.m = rows_, product.n = columns, product.k = steps_ * batch_;
    product.transpose_a = true;
    product.factors = device_->storage();
    product.a = dgates, product.b = x, product.c = dweight;
    return device_->Multiply(product);
  }

  template <typename Element>
  absl::Status AllocateArray(int64_t n, DeviceArray<Element>* array) {
    PS_ASSIGN_OR_RETURN(*array, DeviceArray<Element>::Create(device_, n));
    size_bytes_ += array->size_bytes();
    return absl::OkStatus();
  }
  absl::Status AllocateFactor(int64_t n, ProductFactor* factor) {
    PS_ASSIGN_OR_RETURN(*factor, ProductFactor::Copied(device_, {n}));
    size_bytes_ += n * static_cast<int64_t>(sizeof(Bfloat16));
    return absl::OkStatus();
  }

  float* Gates(int64_t t) { return gates_.data() + t * batch_ * rows_; }
  T* Factor(int64_t t) { return factors_.data() + t * state_size(); }
  // The state of the GRU; the LSTM's is in its cells.
  float* Hidden(int64_t t) {
    if constexpr (kCopies) {
      return is_lstm_ ? nullptr : hiddens_.data() + t * state_size();
    } else {
      return Factor(t);
    }
  }
  float* Cell(int64_t t) {
    return is_lstm_ ? cells_.data() + t * state_size() : nullptr;
  }
  // For the LSTM it is needed only within the step.
  float* Recurrent(int64_t t) {
    return recurrent_.data() + (is_lstm_ ? 0 : t) * batch_ * rows_;
  }

  // The memory where Backward writes these gradients: in place of the values
  // they belong to, or separate.
  T* InputGradients(int64_t t) {
    if constexpr (kCopies) {
      return dgates_.data() + t * batch_ * rows_;
    } else {
      return Gates(t);
    }
  }
  T* RecurrentGradients(int64_t t) {
    if (is_lstm_) return InputGradients(t);
    if constexpr (kCopies) {
      return drecurrent_.data() + t * batch_ * rows_;
    } else {
      return Recurrent(t);
    }
  }

  // What the next Forward starts from, unless it is zero.
  std::vector<DeviceBytes> LastState() const {
    std::vector<DeviceBytes> parts;
    const auto add = [&](const auto& states) {
      if (states.size() == 0) return;
      parts.push_back(
          {states.data() + steps_ * state_size(),
           static_cast<int64_t>(sizeof(*states.data())) * state_size()});
    };
    add(factors_);
    add(cells_);
    add(hiddens_);
    return parts;
  }

  // Makes the last state, or zero, the first.
  template <typename Element>
  absl::Status CarryState(const DeviceArray<Element>& states) {
    if (states.size() == 0) return absl::OkStatus();
    const int64_t size_bytes =
        state_size() * static_cast<int64_t>(sizeof(Element));
    if (state_is_zero_) return device_->Zero(size_bytes, states.data());
    return device_->Copy(states.data() + steps_ * state_size(), size_bytes,
                         states.data());
  }

  // Computes the gradients of the gates, last step first.
  absl::Status BackwardThroughTime(const BackwardArguments& a) {
    PS_RETURN_IF_ERROR(device_->Zero(dhidden_.size_bytes(), dhidden_.data()));
    if (is_lstm_) {
      PS_RETURN_IF_ERROR(device_->Zero(dcell_.size_bytes(), dcell_.data()));
    }
    for (int64_t t = steps_ - 1; t >= 0; --t) {
      CellBackwardStep<T> step;
      step.hidden = Divisor(hidden_);
      step.gates = Gates(t);
      step.recurrent = is_lstm_ ? nullptr : Recurrent(t);
      step.dgates = InputGradients(t);
      step.drecurrent = RecurrentGradients(t);
      step.hidden_before = Hidden(t);
      step.cell_before = Cell(t);
      step.cell = Cell(t + 1);
      step.dy = Elements<T>(a.dy) + t * state_size();
      step.dhidden = dhidden_.data();
      step.dcell = is_lstm_ ? dcell_.data() : nullptr;
      PS_RETURN_IF_ERROR(RunCells(step));
      // The gradient of the initial state is not needed.
      if (t == 0) break;
      MatrixProduct product;
      product.m = batch_, product.n = hidden_, product.k = rows_;
      // The GRU's state also reaches the next step directly.
      product.accumulate = !is_lstm_;
      product.factors = device_->storage();
      product.a = RecurrentGradients(t);
      product.b = recurrent_weights_.of(a.weights.recurrent);
      product.c = dhidden_.data();
      PS_RETURN_IF_ERROR(device_->Multiply(product));
    }
    return absl::OkStatus();
  }

  LayerDevice* const device_;  // Not owned.
  const bool is_lstm_;         // If false, a GRU.
  const int64_t steps_;
  const int64_t batch_;
  const int64_t features_;
  const int64_t hidden_;
  const int64_t rows_;  // Rows of the weights: gates x hidden.
  const Storage input_;
  const ActivationDesc output_;
  int64_t size_bytes_ = 0;
  bool state_is_zero_ = true;
  DeviceArray<float> gates_;      // [steps, batch, rows]
  DeviceArray<float> recurrent_;  // [steps or 1, batch, rows]
  DeviceArray<T> factors_;      // The hidden state, [steps + 1, batch, hidden];
                                // 0: initial.
  DeviceArray<float> cells_;    // The same for the LSTM's cells.
  DeviceArray<float> dhidden_;  // [batch, hidden]
  DeviceArray<float> dcell_;    // [batch, hidden]; LSTM.
  // Used if T is not float:
  DeviceArray<float> hiddens_;  // Like factors_; GRU.
  DeviceArray<T> dgates_;       // [steps, batch, rows]
  DeviceArray<T> drecurrent_;   // [steps, batch, rows]; GRU.
  ProductFactor input_weights_;
  ProductFactor recurrent_weights_;
  ProductFactor x_;  // A copy if the input is floats.
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecurrentOp>> CudaSequenceKernels::PlanRecurrent(
    const RecurrentShape& shape, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("recurrent layer from ", ShapeString(input.shape), " to ",
                   shape.hidden, " units");
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaSequence(what, input));
  if (shape.hidden < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": needs at least one unit"));
  }
  if (device()->options().cudnn_recurrent) {
    absl::StatusOr<std::shared_ptr<CudnnHandle>> cudnn = device()->Cudnn();
    if (!cudnn.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "recurrent layers by cuDNN: ", cudnn.status().message()));
    }
    PS_RETURN_IF_ERROR(device()->MakeCurrent());
    return PlanCudnnRecurrent(device(), *std::move(cudnn), shape, input);
  }
  using Planned = absl::StatusOr<std::unique_ptr<RecurrentOp>>;
  return WithElementOf(device()->storage(), [&](auto element) -> Planned {
    auto op = std::make_unique<CudaRecurrent<decltype(element)>>(
        device(), shape, storage, input.shape);
    PS_RETURN_IF_ERROR(op->Allocate());
    return op;
  });
}

}  // namespace ps
