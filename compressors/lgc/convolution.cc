#include "compressors/lgc/convolution.h"

#include <algorithm>
#include <cmath>

namespace ps {
namespace {

constexpr double kSlope = 0.01;

// A view of a matrix whose element (i, j) is data[i * row + j * column].
template <typename T>
struct Strided {
  const T* data = nullptr;
  int64_t row = 0;
  int64_t column = 1;
};

// Computes C += A B, for A [m, k], B [k, n] with row stride b_row, and C with a
// row stride, too. Each element of C adds its products in order of k.
template <typename T>
void AddProduct(int64_t m, int64_t n, int64_t k, const Strided<T>& a,
                const T* __restrict b, int64_t b_row, T* __restrict c,
                int64_t c_row) {
  for (int64_t i = 0; i < m; ++i) {
    const T* const a_i = a.data + i * a.row;
    T* const c_i = c + i * c_row;
    int64_t p = 0;
    // Four rows at a time read and write C less often.
    for (; p + 4 <= k; p += 4) {
      const T a0 = a_i[p * a.column];
      const T a1 = a_i[(p + 1) * a.column];
      const T a2 = a_i[(p + 2) * a.column];
      const T a3 = a_i[(p + 3) * a.column];
      const T* const b0 = b + p * b_row;
      const T* const b1 = b0 + b_row;
      const T* const b2 = b1 + b_row;
      const T* const b3 = b2 + b_row;
      for (int64_t j = 0; j < n; ++j) {
        c_i[j] =
            (((c_i[j] + a0 * b0[j]) + a1 * b1[j]) + a2 * b2[j]) + a3 * b3[j];
      }
    }
    for (; p < k; ++p) {
      const T a0 = a_i[p * a.column];
      const T* const b0 = b + p * b_row;
      for (int64_t j = 0; j < n; ++j) c_i[j] += a0 * b0[j];
    }
  }
}

template <typename T>
std::vector<T> Transposed(const T* matrix, int64_t rows, int64_t columns) {
  std::vector<T> result(rows * columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      result[j * rows + i] = matrix[i * columns + j];
    }
  }
  return result;
}

// One of the matrix products of a convolution: output row c_first + j c_step is
// the product of `width` input rows, from a_first + j a_step on, and the weight
// matrices from kernel place `place` on. Rows are counted in the padded input,
// which has a row of zeros at its beginning (kHalving) or end (kDoubling).
struct Product {
  int64_t a_first = 0, a_step = 1, width = 1;
  int64_t c_first = 0, c_step = 1;
  int64_t place = 0;
};

std::vector<Product> ProductsOf(ConvolutionKind kind) {
  switch (kind) {
    case ConvolutionKind::kPointwise:
      return {{0, 1, 1, 0, 1, 0}};
    case ConvolutionKind::kHalving:
      return {{0, 2, 3, 0, 1, 0}};
    case ConvolutionKind::kDoubling:
      return {{0, 1, 1, 0, 2, 0}, {0, 1, 2, 1, 2, 1}};
  }
  return {};
}

int64_t ZeroRowsBefore(ConvolutionKind kind) {
  return kind == ConvolutionKind::kHalving ? 1 : 0;
}

// Returns the number of rows j of each product.
int64_t NumWindows(const ConvolutionShape& shape, int64_t length) {
  return shape.kind == ConvolutionKind::kHalving ? length / 2 : length;
}

template <typename T>
std::vector<T> Padded(const ConvolutionShape& shape, const std::vector<T>& x) {
  const size_t rows = shape.kind == ConvolutionKind::kPointwise ? 0 : 1;
  std::vector<T> padded(x.size() + rows * shape.in, T(0));
  std::copy(x.begin(), x.end(),
            padded.begin() + ZeroRowsBefore(shape.kind) * shape.in);
  return padded;
}

}  // namespace

int64_t ConvolutionShape::OutputLength(int64_t length) const {
  if (kind == ConvolutionKind::kPointwise) return length;
  return kind == ConvolutionKind::kHalving ? length / 2 : 2 * length;
}

double ConvolutionShape::InitialBound() const {
  const double fan = static_cast<double>(
      kernel() * (kind == ConvolutionKind::kDoubling ? out : in));
  return 1 / std::sqrt(fan);
}

template <typename T>
void Forward(const ConvolutionShape& shape, const T* parameters,
             const std::vector<T>& x, std::vector<T>* y) {
  const int64_t in = shape.in;
  const int64_t out = shape.out;
  const int64_t length = static_cast<int64_t>(x.size()) / in;
  const int64_t output_length = shape.OutputLength(length);
  const T* const bias = parameters + shape.num_weights();
  y->resize(output_length * out);
  for (int64_t j = 0; j < output_length; ++j) {
    std::copy(bias, bias + out, y->begin() + j * out);
  }
  const std::vector<T> padded = Padded(shape, x);
  for (const Product& product : ProductsOf(shape.kind)) {
    AddProduct<T>(NumWindows(shape, length), out, product.width * in,
                  {padded.data() + product.a_first * in, product.a_step * in},
                  parameters + product.place * in * out, out,
                  y->data() + product.c_first * out, product.c_step * out);
  }
  if (shape.linear) return;
  for (T& value : *y) value = value > 0 ? value : T(kSlope) * value;
}

template <typename T>
void Backward(const ConvolutionShape& shape, const T* parameters,
              const std::vector<T>& x, const std::vector<T>& y,
              std::vector<T>* dy, T* d_parameters, std::vector<T>* dx) {
  const int64_t in = shape.in;
  const int64_t out = shape.out;
  const int64_t length = static_cast<int64_t>(x.size()) / in;
  const int64_t windows = NumWindows(shape, length);
  if (!shape.linear) {
    // LeakyReLU keeps the sign, so y tells where x was negative.
    for (size_t i = 0; i < y.size(); ++i) {
      if (!(y[i] > 0)) (*dy)[i] *= T(kSlope);
    }
  }
  T* const d_bias = d_parameters + shape.num_weights();
  for (size_t i = 0; i < dy->size(); ++i) d_bias[i % out] += (*dy)[i];
  const std::vector<T> padded = Padded(shape, x);
  std::vector<T> d_padded(dx == nullptr ? 0 : padded.size(), T(0));
  std::vector<T> d_windows;
  for (const Product& product : ProductsOf(shape.kind)) {
    const int64_t width = product.width * in;
    const int64_t weights = product.place * in * out;
    const T* const dc = dy->data() + product.c_first * out;
    AddProduct<T>(
        width, out, windows,
        {padded.data() + product.a_first * in, 1, product.a_step * in}, dc,
        product.c_step * out, d_parameters + weights, out);
    if (dx == nullptr) continue;
    const std::vector<T> transposed =
        Transposed(parameters + weights, width, out);
    d_windows.assign(windows * width, T(0));
    AddProduct<T>(windows, width, out, {dc, product.c_step * out},
                  transposed.data(), width, d_windows.data(), width);
    for (int64_t j = 0; j < windows; ++j) {
      T* const to =
          d_padded.data() + (product.a_first + j * product.a_step) * in;
      for (int64_t i = 0; i < width; ++i) to[i] += d_windows[j * width + i];
    }
  }
  if (dx == nullptr) return;
  const auto begin = d_padded.begin() + ZeroRowsBefore(shape.kind) * in;
  dx->assign(begin, begin + x.size());
}

template void Forward<float>(const ConvolutionShape&, const float*,
                             const std::vector<float>&, std::vector<float>*);
template void Forward<double>(const ConvolutionShape&, const double*,
                              const std::vector<double>&, std::vector<double>*);
template void Backward<float>(const ConvolutionShape&, const float*,
                              const std::vector<float>&,
                              const std::vector<float>&, std::vector<float>*,
                              float*, std::vector<float>*);
template void Backward<double>(const ConvolutionShape&, const double*,
                               const std::vector<double>&,
                               const std::vector<double>&, std::vector<double>*,
                               double*, std::vector<double>*);

}  // namespace ps
