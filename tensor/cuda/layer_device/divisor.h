// Division by a number that is known before the kernel starts. A 64-bit
// division takes a device about forty instructions, more than most kernels here
// spend on an element.
#ifndef TENSOR_CUDA_LAYER_DEVICE_DIVISOR_H_
#define TENSOR_CUDA_LAYER_DEVICE_DIVISOR_H_

#include <cstdint>

#include "common/host_device.h"

namespace ps {

// For numbers below 2^31 the division is a multiplication and a shift, as in
// Granlund and Montgomery, "Division by invariant integers using
// multiplication", PLDI 1994: with p = 31 + ceil(log2 d) and m = ceil(2^p / d),
// floor(n m / 2^p) is floor(n / d), since m d - 2^p < d <= 2^(p - 31). Larger
// numbers use the normal division.
class Divisor {
 public:
  Divisor() = default;
  // d: at least 1.
  explicit Divisor(int64_t d) : d_(d) {
    if (d > kLimit) return;
    while ((int64_t{1} << (shift_ - 31)) < d) ++shift_;
    multiplier_ = static_cast<uint32_t>(((uint64_t{1} << shift_) + d - 1) / d);
  }

  PS_HOST_DEVICE int64_t value() const { return d_; }

  // floor(n / d); n: at least 0.
  PS_HOST_DEVICE int64_t Quotient(int64_t n) const {
    if (n > kLimit || d_ > kLimit) return n / d_;
    return static_cast<int64_t>(
        (static_cast<uint64_t>(static_cast<uint32_t>(n)) * multiplier_) >>
        shift_);
  }

  // Returns the quotient; *remainder is n - quotient x d.
  PS_HOST_DEVICE int64_t Divide(int64_t n, int64_t* remainder) const {
    const int64_t quotient = Quotient(n);
    *remainder = n - quotient * d_;
    return quotient;
  }

  PS_HOST_DEVICE int64_t Remainder(int64_t n) const {
    return n - Quotient(n) * d_;
  }

 private:
  static constexpr int64_t kLimit = 0x7fffffff;

  int64_t d_ = 1;
  uint32_t multiplier_ = uint32_t{1} << 31;
  int32_t shift_ = 31;
};

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_DIVISOR_H_
