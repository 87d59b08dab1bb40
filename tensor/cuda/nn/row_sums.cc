#include "tensor/cuda/nn/row_sums.h"

#include "common/status_macros.h"
#include "tensor/cuda/nn/bias_cores.h"

namespace ps {

absl::Status SumRows(LayerDevice* device, const float* matrix, int64_t rows,
                     int64_t columns, float* sums) {
  const int64_t parts = SumRowsPartCore::NumParts(rows);
  SumRowsPartCore part;
  part.columns = Divisor(columns);
  part.rows = rows;
  part.matrix = matrix;
  part.partial = static_cast<double*>(device->scratch());
  PS_RETURN_IF_ERROR(device->Run(part, parts * columns));
  SumPartsCore finish;
  finish.parts = parts;
  finish.columns = columns;
  finish.partial = part.partial;
  finish.sums = sums;
  return device->Run(finish, columns);
}

int64_t RowSumsScratchBytes(int64_t rows, int64_t columns) {
  return SumRowsPartCore::NumParts(rows) * columns *
         static_cast<int64_t>(sizeof(double));
}

absl::Status AddToRows(LayerDevice* device, const float* bias, int64_t rows,
                       int64_t columns, float* matrix) {
  AddToRowsCore core;
  core.columns = Divisor(columns);
  core.bias = bias;
  core.matrix = matrix;
  return device->Run(core, rows * columns);
}

}  // namespace ps
