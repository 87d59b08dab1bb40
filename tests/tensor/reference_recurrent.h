// A second implementation of LSTM and GRU, element by element from their
// equations and in double, to compare the backends with.
#ifndef TESTS_TENSOR_REFERENCE_RECURRENT_H_
#define TESTS_TENSOR_REFERENCE_RECURRENT_H_

#include <cstdint>
#include <vector>

#include "tensor/sequence_kernels.h"
#include "tests/tensor/reference_ops.h"

namespace ps {

struct ReferenceRecurrentWeights {
  std::vector<double> input;           // [gates x hidden, features]
  std::vector<double> recurrent;       // [gates x hidden, hidden]
  std::vector<double> input_bias;      // [gates x hidden]
  std::vector<double> recurrent_bias;  // [gates x hidden]
};

// [batch, hidden] each; the GRU has no cells.
struct ReferenceState {
  std::vector<double> hidden;
  std::vector<double> cells;
};

// x: [steps, batch, features]. Returns [steps, batch, hidden] and updates the
// state.
ReferenceTensor ReferenceRecurrent(const RecurrentShape& shape,
                                   const ReferenceTensor& x,
                                   const ReferenceRecurrentWeights& weights,
                                   ReferenceState* state);

}  // namespace ps

#endif  // TESTS_TENSOR_REFERENCE_RECURRENT_H_
