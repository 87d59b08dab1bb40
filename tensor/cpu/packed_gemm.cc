#include "tensor/cpu/packed_gemm.h"

#include <algorithm>

#include "tensor/cpu/packed_gemm_loops.h"

namespace ps {
namespace {

// The number of panels that a thread takes at a time.
constexpr int64_t kPanelsPerChunk = 8;
// The number of rows of B that are multiplied before the next ones: that many
// rows of a panel (128 KiB), with the matching part of A (up to 256 KiB), fit
// into the L2 cache.
constexpr int64_t kMaxBlockRows = 2048;
constexpr int64_t kBlockFloats = 64 * 1024;
// The number of rows of B that are packed at a time: all panels take their part
// of a row while it is in the cache.
constexpr int64_t kRowsPerPacking = 16;

int64_t NumPanels(const PackedShape& shape) {
  return (shape.n + kPanelColumns - 1) / kPanelColumns;
}

}  // namespace

int64_t PackedShape::num_floats() const {
  return k * NumPanels(*this) * kPanelColumns;
}

void Pack(ThreadPool* pool, const PackedShape& shape, const float* b,
          bool transposed, float* packed) {
  // A panel's columns are rows of the transpose, which can be read to their
  // end.
  const int64_t rows = transposed ? shape.k : kRowsPerPacking;
  pool->ParallelFor(
      NumPanels(shape), kPanelsPerChunk, [&](const ChunkRange& chunk) {
        for (int64_t k = 0; k < shape.k; k += rows) {
          for (int64_t p = chunk.begin; p < chunk.end; ++p) {
            const int64_t column = p * kPanelColumns;
            PanelPacking part;
            part.rows = std::min(rows, shape.k - k);
            part.columns = std::min(kPanelColumns, shape.n - column);
            part.transposed = transposed;
            part.stride = transposed ? shape.k : shape.n;
            part.b = transposed ? b + column * shape.k + k
                                : b + k * shape.n + column;
            part.panel = packed + (p * shape.k + k) * kPanelColumns;
            PackPanel(part);
          }
        }
      });
}

void MultiplyPacked(ThreadPool* pool, const PackedProduct& product) {
  const PackedShape& shape = product.shape;
  const int64_t blocks = (shape.k + kMaxBlockRows - 1) / kMaxBlockRows;
  const int64_t block_rows = (shape.k + blocks - 1) / blocks;
  const int64_t rows_of_a = std::max<int64_t>(24, kBlockFloats / block_rows);
  pool->ParallelFor(
      NumPanels(shape), kPanelsPerChunk, [&](const ChunkRange& chunk) {
        for (int64_t k = 0; k < shape.k; k += block_rows) {
          for (int64_t m = 0; m < product.m; m += rows_of_a) {
            for (int64_t p = chunk.begin; p < chunk.end; ++p) {
              const int64_t column = p * kPanelColumns;
              PanelProduct part;
              part.m = std::min(rows_of_a, product.m - m);
              part.k = std::min(block_rows, shape.k - k);
              part.a = product.a + m * shape.k + k;
              part.a_stride = shape.k;
              part.panel = product.packed + (p * shape.k + k) * kPanelColumns;
              part.columns = std::min(kPanelColumns, shape.n - column);
              part.c = product.c + m * shape.n + column;
              part.c_stride = shape.n;
              part.accumulate = product.accumulate || k > 0;
              MultiplyPanel(part);
            }
          }
        }
      });
}

}  // namespace ps
