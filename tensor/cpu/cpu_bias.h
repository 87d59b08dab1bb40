// Adds a bias to every row of a matrix, and computes its gradient, the sum of
// all rows.
#ifndef TENSOR_CPU_CPU_BIAS_H_
#define TENSOR_CPU_CPU_BIAS_H_

#include <cstdint>

#include "common/thread_pool.h"

namespace ps {

// Computes matrix[i, j] += bias[j]. matrix: [rows, columns], row-major.
void AddToRows(ThreadPool* pool, const float* bias, int64_t rows,
               int64_t columns, float* matrix);

// Computes sums[j], the sum of matrix[i, j] over all i, added in order of i for
// any number of threads.
void SumRows(ThreadPool* pool, const float* matrix, int64_t rows,
             int64_t columns, float* sums);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_BIAS_H_
