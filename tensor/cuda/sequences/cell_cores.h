// The work between the products of one step of a recurrent layer, for all rows
// of the batch. Equations: tensor/sequence_kernels.h; the steps are the same as
// in tensor/cpu/cpu_cell_loops.cc. Count of each core: batch x hidden.
#ifndef TENSOR_CUDA_SEQUENCES_CELL_CORES_H_
#define TENSOR_CUDA_SEQUENCES_CELL_CORES_H_

#include <math.h>

#include <cstdint>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"
#include "tensor/cuda/nn/activation_cores.h"

namespace ps {

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
struct LstmForwardCore : ElementCore {
  static constexpr const char* kName = "LstmForward";
  CellForwardStep<T> step;

  PS_HOST_DEVICE void operator()(int64_t element) const {
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
};

template <typename T>
struct LstmBackwardCore : ElementCore {
  static constexpr const char* kName = "LstmBackward";
  CellBackwardStep<T> step;

  PS_HOST_DEVICE void operator()(int64_t element) const {
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
};

template <typename T>
struct GruForwardCore : ElementCore {
  static constexpr const char* kName = "GruForward";
  CellForwardStep<T> step;

  PS_HOST_DEVICE void operator()(int64_t element) const {
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
};

template <typename T>
struct GruBackwardCore : ElementCore {
  static constexpr const char* kName = "GruBackward";
  CellBackwardStep<T> step;

  PS_HOST_DEVICE void operator()(int64_t element) const {
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
};

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_CELL_CORES_H_
