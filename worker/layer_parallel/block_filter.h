// Computes the means of square blocks of images, in which a cut can keep and
// send its variables.
//
// With D for Mean and U for Repeat, D U = 1, and <U q, z> = extent^2 <q, D z>.
// The penalty of a filtered cut is extent^2 b / 2 |v - D x|^2, which is the
// penalty of U v where x is constant in each block. Its gradient at x is
// b U (D x - v), and the gradient at v divided by extent^2 is that of an
// unfiltered cut with D x and D p in place of x and p.
#ifndef WORKER_LAYER_PARALLEL_BLOCK_FILTER_H_
#define WORKER_LAYER_PARALLEL_BLOCK_FILTER_H_

#include <cstdint>

namespace ps {

struct BlockFilter {
  int64_t extent = 1;  // The side of a block; divides height and width.
  int64_t planes = 0;  // The number of images of one channel.
  int64_t height = 0;
  int64_t width = 0;

  int64_t full_size() const { return planes * height * width; }
  int64_t filtered_size() const { return full_size() / (extent * extent); }

  // Computes means of blocks. full: [planes, height, width]; filtered: [planes,
  // height / extent, width / extent]. With extent 1 both functions copy.
  template <typename Real>
  void Mean(const Real* full, Real* filtered) const {
    const int64_t columns = width / extent;
    for (int64_t row = 0; row < planes * height / extent; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < extent; ++i) {
          const Real* const line =
              full + (row * extent + i) * width + column * extent;
          for (int64_t j = 0; j < extent; ++j) sum += line[j];
        }
        filtered[row * columns + column] =
            static_cast<Real>(sum / static_cast<double>(extent * extent));
      }
    }
  }

  template <typename Real>
  void Repeat(const Real* filtered, Real* full) const {
    for (int64_t row = 0; row < planes * height; ++row) {
      const Real* const line = filtered + row / extent * (width / extent);
      for (int64_t column = 0; column < width; ++column) {
        full[row * width + column] = line[column / extent];
      }
    }
  }
};

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_BLOCK_FILTER_H_
