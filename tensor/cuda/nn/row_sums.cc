#include "tensor/cuda/nn/row_sums.h"

#include "common/status_macros.h"
#include "tensor/cuda/nn/bias_cores.h"

namespace ps {
namespace {

int64_t NumParts(int64_t rows) {
  return (rows + kRowsPerPart - 1) / kRowsPerPart;
}

}  // namespace

absl::Status SumRows(LayerDevice* device, const RowMatrix& shape,
                     const void* matrix, float* sums) {
  const int64_t parts = NumParts(shape.rows);
  double* const partial = static_cast<double*>(device->scratch());
  PS_RETURN_IF_ERROR(WithElementOf(shape.storage, [&](auto element) {
    SumRowsPartCore<decltype(element)> core;
    core.columns = Divisor(shape.columns);
    core.rows = shape.rows;
    core.matrix = static_cast<const decltype(element)*>(matrix);
    core.partial = partial;
    return device->Run(core, parts * shape.columns);
  }));
  SumPartsCore finish;
  finish.parts = parts;
  finish.columns = shape.columns;
  finish.partial = partial;
  finish.sums = sums;
  return device->Run(finish, shape.columns);
}

int64_t RowSumsScratchBytes(int64_t rows, int64_t columns) {
  return NumParts(rows) * columns * static_cast<int64_t>(sizeof(double));
}

absl::Status AddToRows(LayerDevice* device, const RowMatrix& shape,
                       const float* bias, void* matrix) {
  return WithElementOf(shape.storage, [&](auto element) {
    AddToRowsCore<decltype(element)> core;
    core.columns = Divisor(shape.columns);
    core.bias = bias;
    core.matrix = static_cast<decltype(element)*>(matrix);
    return device->Run(core, shape.rows * shape.columns);
  });
}

}  // namespace ps
