// Computes recurrent layers' cells in vectorised loops: the work between the
// products of one step. Equations: tensor/sequence_kernels.h.
#ifndef TENSOR_CPU_CPU_CELL_LOOPS_H_
#define TENSOR_CPU_CPU_CELL_LOOPS_H_

#include <cstdint>

namespace ps {

// The forward pass of one row of the batch at one step. Every pointer is to
// `hidden` elements; gates, `recurrent` and biases have that many for each
// gate.
struct CellForward {
  int64_t hidden = 0;
  // Input: W_ih x. Output: the gates' values, which the backward pass reads.
  float* gates = nullptr;
  // Input: W_hh h. For the GRU, the n part becomes W_hn h + b_hn, which the
  // backward pass reads.
  float* recurrent = nullptr;
  const float* input_bias = nullptr;
  const float* recurrent_bias = nullptr;
  const float* hidden_before = nullptr;
  const float* cell_before = nullptr;  // For the LSTM only.
  float* cell = nullptr;               // For the LSTM only.
  // The output h', written twice: for the next step and for the next layer.
  float* hidden_after = nullptr;
  float* y = nullptr;
};

// The backward pass of the same row.
struct CellBackward {
  int64_t hidden = 0;
  // Input: as CellForward left it. Output: the gradient of W_ih x.
  float* gates = nullptr;
  // For the GRU only. Input: as CellForward left it. Output: the gradient of
  // W_hh h, which for the LSTM equals that of W_ih x.
  float* recurrent = nullptr;
  const float* hidden_before = nullptr;  // For the GRU only.
  const float* cell_before = nullptr;    // For the LSTM only.
  const float* cell = nullptr;           // For the LSTM only.
  const float* dy = nullptr;
  // Input: the gradient of h' from the next step. Output for the GRU only: the
  // part of the gradient of h that does not pass through W_hh.
  float* dhidden = nullptr;
  // For the LSTM only. Input: the gradient of c'. Output: the gradient of c.
  float* dcell = nullptr;
};

void LstmForward(const CellForward& row);
void LstmBackward(const CellBackward& row);
void GruForward(const CellForward& row);
void GruBackward(const CellBackward& row);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_CELL_LOOPS_H_
