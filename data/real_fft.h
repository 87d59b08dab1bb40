// Computes the discrete Fourier transform of real numbers.
#ifndef DATA_REAL_FFT_H_
#define DATA_REAL_FFT_H_

#include <cstdint>
#include <vector>

namespace ps {

// A transform of one size. Immutable; each thread brings its own scratch.
class RealFft {
 public:
  // Takes any even size of at least 2; products of small primes are fastest.
  explicit RealFft(int64_t size);

  int64_t size() const { return size_; }
  // The number of frequencies, from 0 to size / 2.
  int64_t num_bins() const { return size_ / 2 + 1; }
  int64_t scratch_size() const { return 2 * size_; }

  // Computes power[k] = |sum over n of x[n] exp(-2 pi i k n / size)|^2. x:
  // [size], power: [num_bins()], scratch: [scratch_size()]; none overlap.
  void PowerSpectrum(const float* x, float* power, float* scratch) const;

 private:
  struct Complex {
    float re;
    float im;
  };

  // A stage computes a transform of `size` points from several of size / radix.
  // This is Stockham's form, which needs no reordering (Van Loan,
  // "Computational Frameworks for the Fast Fourier Transform", SIAM 1992,
  // section 1.7), with decimation in frequency.
  struct Stage {
    int64_t size;
    int64_t radix;
    int64_t stride;  // The product of the radices of earlier stages.
    // [size / radix, radix, radix], for part q, output k and input j: exp(-2 pi
    // i (q k / size + j k / radix)).
    std::vector<Complex> factors;
  };

  // Runs one stage; `in` and `out` must not overlap.
  static void AnyRadix(const Stage& stage, const Complex* in, Complex* out);
  static void Radix2(const Stage& stage, const Complex* in, Complex* out);

  // Transforms `in`, using both arrays and overwriting both; returns the one
  // that has the result.
  const Complex* Transform(Complex* in, Complex* out) const;

  int64_t size_;
  // The number of points of the complex transform.
  int64_t half_;
  std::vector<Stage> stages_;   // Largest radix first.
  std::vector<Complex> roots_;  // [size], exp(-2 pi i k / size).
};

}  // namespace ps

#endif  // DATA_REAL_FFT_H_
