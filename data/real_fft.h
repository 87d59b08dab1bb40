// The discrete Fourier transform of real numbers.
#ifndef DATA_REAL_FFT_H_
#define DATA_REAL_FFT_H_

#include <cstdint>
#include <vector>

namespace ps {

// Of one size. Immutable once made; each thread brings its own scratch.
class RealFft {
 public:
  // Any even size of at least 2; best is a product of small primes.
  explicit RealFft(int64_t size);

  int64_t size() const { return size_; }
  // Of frequencies 0 to size / 2.
  int64_t num_bins() const { return size_ / 2 + 1; }
  int64_t scratch_size() const { return 2 * size_; }

  // power[k] = |sum over n of x[n] exp(-2 pi i k n / size)|^2.
  // x: [size], power: [num_bins()], scratch: [scratch_size()]; none overlap.
  void PowerSpectrum(const float* x, float* power, float* scratch) const;

 private:
  struct Complex {
    float re;
    float im;
  };

  // A transform of `size` points from several of size / radix: Stockham's form,
  // which needs no reordering (Van Loan, "Computational Frameworks for the Fast
  // Fourier Transform", SIAM 1992, section 1.7), by decimation in frequency.
  struct Stage {
    int64_t size;
    int64_t radix;
    int64_t stride;  // Product of the radices before.
    // [size / radix, radix, radix], of part q, output k and input j:
    // exp(-2 pi i (q k / size + j k / radix)).
    std::vector<Complex> factors;
  };

  // One stage, `in` and `out` without overlap.
  static void AnyRadix(const Stage& stage, const Complex* in, Complex* out);
  static void Radix2(const Stage& stage, const Complex* in, Complex* out);

  // From `in` to `out`, which both lose what they held; returns which of them
  // has the result.
  const Complex* Transform(Complex* in, Complex* out) const;

  int64_t size_;
  int64_t half_;                // Points of the complex transform.
  std::vector<Stage> stages_;   // Largest radix first.
  std::vector<Complex> roots_;  // [size], exp(-2 pi i k / size).
};

}  // namespace ps

#endif  // DATA_REAL_FFT_H_
