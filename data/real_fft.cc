#include "data/real_fft.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "glog/logging.h"

namespace ps {
namespace {

constexpr double kPi = 3.141592653589793;

}  // namespace

RealFft::RealFft(int64_t size) : size_(size), half_(size / 2), roots_(size) {
  CHECK_GE(size, 2);
  CHECK_EQ(size % 2, 0);
  for (int64_t k = 0; k < size; ++k) {
    const double angle = -2 * kPi * static_cast<double>(k) / size;
    roots_[k].re = static_cast<float>(std::cos(angle));
    roots_[k].im = static_cast<float>(std::sin(angle));
  }
  std::vector<int64_t> primes;
  int64_t rest = half_;
  for (int64_t prime = 2; rest > 1; ++prime) {
    for (; rest % prime == 0; rest /= prime) primes.push_back(prime);
  }
  std::reverse(primes.begin(), primes.end());
  int64_t stride = 1;
  for (const int64_t radix : primes) {
    Stage stage = {half_ / stride, radix, stride, {}};
    for (int64_t q = 0; q < stage.size / radix; ++q) {
      for (int64_t k = 0; k < radix; ++k) {
        for (int64_t j = 0; j < radix; ++j) {
          // roots_ has twice as many points as the transform.
          const int64_t turn = 2 * (q * k * stride + j * k * (half_ / radix));
          stage.factors.push_back(roots_[turn % size_]);
        }
      }
    }
    stages_.push_back(std::move(stage));
    stride *= radix;
  }
}

void RealFft::AnyRadix(const Stage& stage, const Complex* in, Complex* out) {
  const int64_t parts = stage.size / stage.radix;
  const Complex* factor = stage.factors.data();
  for (int64_t q = 0; q < parts; ++q) {
    for (int64_t k = 0; k < stage.radix; ++k, out += stage.stride) {
      for (int64_t j = 0; j < stage.radix; ++j) {
        const Complex w = *factor++;
        const Complex* x = in + stage.stride * (q + parts * j);
        for (int64_t r = 0; r < stage.stride; ++r) {
          const float re = x[r].re * w.re - x[r].im * w.im;
          const float im = x[r].re * w.im + x[r].im * w.re;
          out[r].re = j == 0 ? re : out[r].re + re;
          out[r].im = j == 0 ? im : out[r].im + im;
        }
      }
    }
  }
}

void RealFft::Radix2(const Stage& stage, const Complex* in, Complex* out) {
  const int64_t parts = stage.size / 2;
  const int64_t stride = stage.stride;
  for (int64_t q = 0; q < parts; ++q) {
    // The factor of output 1 and input 0. The factor of input 1 is its
    // negative, and output 0 is a plain sum.
    const Complex w = stage.factors[4 * q + 2];
    const Complex* a = in + stride * q;
    const Complex* b = in + stride * (q + parts);
    Complex* y = out + 2 * stride * q;
    for (int64_t r = 0; r < stride; ++r) {
      const float re = a[r].re - b[r].re;
      const float im = a[r].im - b[r].im;
      y[r] = {a[r].re + b[r].re, a[r].im + b[r].im};
      y[stride + r] = {re * w.re - im * w.im, re * w.im + im * w.re};
    }
  }
}

const RealFft::Complex* RealFft::Transform(Complex* in, Complex* out) const {
  for (const Stage& stage : stages_) {
    if (stage.radix == 2) {
      Radix2(stage, in, out);
    } else {
      AnyRadix(stage, in, out);
    }
    std::swap(in, out);
  }
  return in;
}

void RealFft::PowerSpectrum(const float* x, float* power,
                            float* scratch) const {
  // Pairs of neighbours become real and imaginary parts: half as many complex
  // points, whose transform is then separated by symmetry.
  auto* points = reinterpret_cast<Complex*>(scratch);
  for (int64_t i = 0; i < half_; ++i) points[i] = {x[2 * i], x[2 * i + 1]};
  const Complex* z = Transform(points, points + half_);
  for (int64_t k = 0; k <= half_; ++k) {
    const Complex a = z[k % half_];
    const Complex b = z[(half_ - k) % half_];
    const float even_re = 0.5f * (a.re + b.re);
    const float even_im = 0.5f * (a.im - b.im);
    const float odd_re = 0.5f * (a.im + b.im);
    const float odd_im = 0.5f * (b.re - a.re);
    const Complex w = roots_[k];
    const float re = even_re + w.re * odd_re - w.im * odd_im;
    const float im = even_im + w.re * odd_im + w.im * odd_re;
    power[k] = re * re + im * im;
  }
}

}  // namespace ps
