// The vectorised inner loops of recurrent layers: what lies between the
// products of one step. Equations: tensor/sequence_kernels.h.
#ifndef TENSOR_CPU_CPU_CELL_LOOPS_H_
#define TENSOR_CPU_CPU_CELL_LOOPS_H_

#include <cstdint>

namespace ps {

// One row of the batch at one step, forward. All pointers are to `hidden`
// elements, gates and biases to as many for each gate.
struct CellForward {
  int64_t hidden = 0;
  // In: W_ih x. Out: the gates' values, which backward reads.
  float* gates = nullptr;
  // W_hh h. GRU: the n part becomes W_hn h + b_hn, which backward reads.
  float* recurrent = nullptr;
  const float* input_bias = nullptr;
  const float* recurrent_bias = nullptr;
  const float* hidden_before = nullptr;
  const float* cell_before = nullptr;  // LSTM.
  float* cell = nullptr;               // LSTM.
  // h', twice: what the next step and the next layer read.
  float* hidden_after = nullptr;
  float* y = nullptr;
};

// The same backward.
struct CellBackward {
  int64_t hidden = 0;
  // In: as CellForward left it. Out: the gradient of W_ih x.
  float* gates = nullptr;
  // GRU: in as CellForward left it, out the gradient of W_hh h. The LSTM's is
  // that of W_ih x.
  float* recurrent = nullptr;
  const float* hidden_before = nullptr;  // GRU.
  const float* cell_before = nullptr;    // LSTM.
  const float* cell = nullptr;           // LSTM.
  const float* dy = nullptr;
  // In: the gradient of h' from the next step. GRU: out, the part of h's
  // gradient that does not go through W_hh.
  float* dhidden = nullptr;
  // LSTM: the gradient of c', and then of c.
  float* dcell = nullptr;
};

void LstmForward(const CellForward& row);
void LstmBackward(const CellBackward& row);
void GruForward(const CellForward& row);
void GruBackward(const CellBackward& row);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_CELL_LOOPS_H_
