#include "compressors/powersgd/low_rank_factors.h"

#include <algorithm>
#include <cmath>

namespace ps {
namespace {

// A remainder of a column below this, relative to the column, is mere rounding.
constexpr double kDependent = 1e-10;

// Adds in lanes, and then the lanes in order: the compiler may vectorize, and
// the result is the same everywhere.
template <typename A, typename B>
double Dot(const A* a, const B* b, int64_t n) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += double{a[i + lane]} * double{b[i + lane]};
    }
  }
  for (; i < n; ++i) lanes[0] += double{a[i]} * double{b[i]};
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

// Orthonormalises columns by modified Gram-Schmidt. columns: [rank, rows].
void Orthonormalise(int rank, int64_t rows, std::vector<double>* columns) {
  for (int k = 0; k < rank; ++k) {
    double* const column = columns->data() + k * rows;
    const double before = Dot(column, column, rows);
    for (int j = 0; j < k; ++j) {
      const double* const other = columns->data() + j * rows;
      const double shared = Dot(column, other, rows);
      for (int64_t i = 0; i < rows; ++i) column[i] -= shared * other[i];
    }
    const double left = Dot(column, column, rows);
    // This is false also for a column of zeros.
    const bool independent = left > kDependent * kDependent * before;
    const double scale = independent ? 1 / std::sqrt(left) : 0;
    for (int64_t i = 0; i < rows; ++i) column[i] *= scale;
  }
}

}  // namespace

void MultiplyRow(const float* p, const float* q, int64_t cols, int rank,
                 int64_t begin, absl::Span<float> values) {
  constexpr int64_t kBlock = 256;
  double sums[kBlock];
  const int64_t n = static_cast<int64_t>(values.size());
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t here = std::min(kBlock, n - done);
    std::fill_n(sums, here, 0.0);
    for (int k = 0; k < rank; ++k) {
      const double factor = p[k];
      const float* const row = q + k * cols + begin + done;
      for (int64_t j = 0; j < here; ++j) sums[j] += factor * double{row[j]};
    }
    for (int64_t j = 0; j < here; ++j) {
      values[done + j] = static_cast<float>(sums[j]);
    }
  }
}

void PowerIteration(const float* m, LowRankFactors* factors) {
  const int64_t rows = factors->rows;
  const int64_t cols = factors->cols;
  const int rank = factors->rank;
  std::vector<double> columns(rank * rows);  // The columns of P.
  for (int64_t i = 0; i < rows; ++i) {
    for (int k = 0; k < rank; ++k) {
      columns[k * rows + i] =
          Dot(m + i * cols, factors->q.data() + k * cols, cols);
    }
  }
  Orthonormalise(rank, rows, &columns);
  factors->p.resize(rows * rank);
  for (int64_t i = 0; i < rows; ++i) {
    for (int k = 0; k < rank; ++k) {
      factors->p[i * rank + k] = static_cast<float>(columns[k * rows + i]);
    }
  }
  // P is used as it is sent.
  std::vector<double> sums(rank * cols);
  for (int64_t i = 0; i < rows; ++i) {
    for (int k = 0; k < rank; ++k) {
      const double factor = factors->p[i * rank + k];
      const float* const row = m + i * cols;
      double* const sum = sums.data() + k * cols;
      for (int64_t j = 0; j < cols; ++j) sum[j] += factor * double{row[j]};
    }
  }
  std::transform(sums.begin(), sums.end(), factors->q.begin(),
                 [](double sum) { return static_cast<float>(sum); });
}

}  // namespace ps
