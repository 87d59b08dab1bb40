// The vectorised inner loops of recurrent layers: the work between the products
// of one step. Equations: tensor/sequence_kernels.h.
#ifndef TENSOR_CPU_CPU_CELL_LOOPS_H_
#define TENSOR_CPU_CPU_CELL_LOOPS_H_

#include <cstdint>

namespace ps {

// The forward pass of one row of the batch at one step. Every pointer is to
// `hidden` elements; gates, `recurrent` and biases have that many for each
// gate.
struct CellForward {
  int64_t hidden = 0;
  // In: W_ih x. Out: the gates' values, which the backward pass reads.
  float* gates = nullptr;
  // W_hh h. GRU: the n part becomes W_hn h + b_hn, which the backward pass
  // reads.
  float* recurrent = nullptr;
  const float* input_bias = nullptr;
  const float* recurrent_bias = nullptr;
  const float* hidden_before = nullptr;
  const float* cell_before = nullptr;  // LSTM.
  float* cell = nullptr;               // LSTM.
  // h', written twice: one copy for the next step and one for the next layer.
  float* hidden_after = nullptr;
  float* y = nullptr;
};

// The backward pass of the same row.
struct CellBackward {
  int64_t hidden = 0;
  // In: as CellForward left it. Out: the gradient of W_ih x.
  float* gates = nullptr;
  // GRU: in as CellForward left it, out the gradient of W_hh h. For the LSTM,
  // the gradient of W_hh h equals that of W_ih x.
  float* recurrent = nullptr;
  const float* hidden_before = nullptr;  // GRU.
  const float* cell_before = nullptr;    // LSTM.
  const float* cell = nullptr;           // LSTM.
  const float* dy = nullptr;
  // In: the gradient of h' from the next step. GRU only, out: the part of the
  // gradient of h that does not pass through W_hh.
  float* dhidden = nullptr;
  // LSTM. In: the gradient of c'. Out: the gradient of c.
  float* dcell = nullptr;
};

void LstmForward(const CellForward& row);
void LstmBackward(const CellBackward& row);
void GruForward(const CellForward& row);
void GruBackward(const CellBackward& row);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_CELL_LOOPS_H_
