// Packs and multiplies matrices in vectorised loops.
#ifndef TENSOR_CPU_PACKED_GEMM_LOOPS_H_
#define TENSOR_CPU_PACKED_GEMM_LOOPS_H_

#include <cstdint>

namespace ps {

// A packed matrix is cut into panels of this many columns. Each panel is stored
// row by row, and the last one is padded with zeros.
constexpr int64_t kPanelColumns = 16;

// Some rows of a panel.
struct PanelPacking {
  int64_t rows = 0;
  int64_t columns = 0;  // 1 to kPanelColumns.
  const float* b = nullptr;
  // Whether b is [columns, rows], a part of B's transpose; else [rows,
  // columns].
  bool transposed = false;
  int64_t stride = 0;      // The distance from one row of b to the next.
  float* panel = nullptr;  // [rows, kPanelColumns]
};

void PackPanel(const PanelPacking& packing);

// A product of rows of A and one panel of B.
struct PanelProduct {
  int64_t m = 0;
  int64_t k = 0;
  const float* a = nullptr;      // [m, k]
  int64_t a_stride = 0;          // The distance from one row to the next.
  const float* panel = nullptr;  // [k, kPanelColumns]
  // The number of columns of C; 1 to kPanelColumns.
  int64_t columns = 0;
  float* c = nullptr;  // [m, columns]
  int64_t c_stride = 0;
  bool accumulate = false;  // Whether to compute C += A B.
};

void MultiplyPanel(const PanelProduct& product);

}  // namespace ps

#endif  // TENSOR_CPU_PACKED_GEMM_LOOPS_H_
