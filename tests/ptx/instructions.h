// What PTX's arithmetic instructions compute ("PTX ISA" 9.0, chapter 9), for
// the C++ that translate.py writes. Compiled with -fwrapv: sums of signed
// integers may overflow.
#ifndef TESTS_PTX_INSTRUCTIONS_H_
#define TESTS_PTX_INSTRUCTIONS_H_

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

namespace ptx {

template <typename To, typename From>
inline To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// Floats of 16 bits, which instructions compute with as floats.
struct Bf16 {
  Bf16() = default;
  explicit Bf16(float x) {
    const uint32_t wide = BitCast<uint32_t>(x);
    bits = x != x ? 0x7fff : (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
  }
  // Rounds to odd first, so that rounding twice does no harm.
  explicit Bf16(double x) {
    const float nearest = static_cast<float>(x);
    uint32_t odd = BitCast<uint32_t>(nearest);
    if (nearest != x && nearest == nearest && (odd & 1) == 0) {
      const bool beyond =
          std::fabs(static_cast<double>(nearest)) > std::fabs(x);
      odd = beyond ? odd - 1 : odd + 1;
    }
    *this = Bf16(BitCast<float>(odd));
  }
  operator float() const { return BitCast<float>(uint32_t{bits} << 16); }
  uint16_t bits;
};
struct F16 {
  F16() = default;
  template <typename F>
  explicit F16(F x)
      : bits(x != x ? 0x7fff : BitCast<uint16_t>(static_cast<_Float16>(x))) {}
  operator float() const { return static_cast<float>(BitCast<_Float16>(bits)); }
  uint16_t bits;
};
template <typename H>
inline H TowardZero(float x) {
  H half(x);
  if (x == x && std::fabs(float{half}) > std::fabs(x)) --half.bits;
  return half;
}
template <typename H>
inline uint32_t Pair(H low, H high) {
  return uint32_t{high.bits} << 16 | low.bits;
}

// What a register's bits stand for, and back: NaNs that instructions compute
// are canonical.
template <typename T, typename R>
inline T In(R bits) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else if constexpr (sizeof(T) == 2) {
    return BitCast<T>(static_cast<uint16_t>(bits));
  } else if constexpr (sizeof(T) == 4) {
    return BitCast<T>(static_cast<uint32_t>(bits));
  } else {
    return BitCast<T>(static_cast<uint64_t>(bits));
  }
}
template <typename T>
inline auto Out(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return x != x ? 0x7fffffff : BitCast<uint32_t>(x);
  } else if constexpr (std::is_same_v<T, double>) {
    return x != x ? 0xfff8000000000000 : BitCast<uint64_t>(x);
  } else if constexpr (std::is_class_v<T>) {
    return T(float{x}).bits;
  } else {
    return x;
  }
}
template <typename U>
inline constexpr U kTopBit = U{1} << (8 * sizeof(U) - 1);

// Sets the rounding of floats while it exists.
struct Rounding {
  explicit Rounding(int mode) { std::fesetround(mode); }
  ~Rounding() { std::fesetround(FE_TONEAREST); }
};

template <typename F>
inline bool IsNan(F x, F y) {
  return x != x || y != y;
}

// Of a number and a NaN, the number; -0 is less than 0.
template <typename T>
inline T Min(T x, T y) {
  if constexpr (std::is_integral_v<T>) return std::min(x, y);
  if (x != x) return y;
  if (y != y) return x;
  if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}
template <typename T>
inline T Max(T x, T y) {
  if constexpr (std::is_integral_v<T>) return std::max(x, y);
  if (x != x) return y;
  if (y != y) return x;
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}
template <typename R, typename F>
inline R NanOr(R result, F x, F y) {
  return IsNan(x, y) ? R(std::numeric_limits<float>::quiet_NaN()) : result;
}

template <typename F>
inline auto Fma(F x, F y, F z) {
  if constexpr (std::is_class_v<F>) {
    return static_cast<float>(std::fma(double{x}, double{y}, double{z}));
  } else {
    return std::fma(x, y, z);
  }
}
template <typename F>
inline F Saturate(F x) {
  return x != x || x < 0 ? F(0.0f) : x > 1 ? F(1.0f) : x;
}
template <typename F>
inline F Relu(F x) {
  return x < 0 ? F(0.0f) : x;
}
// Subnormal numbers become zeros of their sign (.ftz).
inline float Flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
// rcp.approx.ftz.f64 and its like compute the upper half of the bits.
inline double UpperHalf(double x) {
  return BitCast<double>(BitCast<uint64_t>(x) & 0xffffffff00000000);
}
// What `set` makes of a comparison.
template <typename T>
inline T Truth(bool holds) {
  if constexpr (std::is_integral_v<T>) return holds ? static_cast<T>(~T{0}) : 0;
  return T(holds ? 1.0f : 0.0f);
}

template <typename T>
inline T AddWithCarry(T x, T y, bool carry, bool* carried) {
  const unsigned __int128 sum = static_cast<unsigned __int128>(x) + y + carry;
  *carried = (sum >> 8 * sizeof(T) & 1) != 0;
  return static_cast<T>(sum);
}
// The carry stands for a borrow.
template <typename T>
inline T SubtractWithCarry(T x, T y, bool borrow, bool* borrowed) {
  const T difference = AddWithCarry<T>(x, ~y, !borrow, borrowed);
  *borrowed = !*borrowed;
  return difference;
}

// Integers divided by zero give all ones, and no result overflows.
template <typename T>
inline auto Quotient(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) return static_cast<T>(~T{0});
    if (y == static_cast<T>(-1) && std::is_signed_v<T>)
      return static_cast<T>(-x);
    return static_cast<T>(x / y);
  } else {
    return x / y;
  }
}
template <typename T>
inline T Remainder(T x, T y) {
  if (y == 0) return x;
  if (std::is_signed_v<T> && y == static_cast<T>(-1)) return 0;
  return static_cast<T>(x % y);
}

template <typename T>
inline T HighProduct(T x, T y) {
  using Wide =
      std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>(Wide{x} * y >> 8 * sizeof(T));
}
inline uint32_t Low24(uint32_t x) { return x & 0xffffff; }
inline int32_t Low24(int32_t x) { return x << 8 >> 8; }

template <typename T>
inline T ShiftLeft(T x, uint32_t n) {
  return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(x << n);
}
template <typename T>
inline T ShiftRight(T x, uint32_t n) {
  if (std::is_signed_v<T>) {
    return static_cast<T>(x >> std::min<uint32_t>(n, 8 * sizeof(T) - 1));
  }
  return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(x >> n);
}
// Of the 64 bits {high, low}, shifted by at most 32.
inline uint32_t FunnelLeft(uint32_t low, uint32_t high, uint32_t n) {
  return n == 32
             ? low
             : static_cast<uint32_t>((uint64_t{high} << 32 | low) << n >> 32);
}
inline uint32_t FunnelRight(uint32_t low, uint32_t high, uint32_t n) {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> n);
}

template <typename T>
inline T Lop3(T a, T b, T c, int table) {
  T result = 0;
  for (int i = 0; i < 8; ++i) {
    if ((table >> i & 1) == 0) continue;
    result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return result;
}

inline uint32_t Permute(uint32_t a, uint32_t b, uint32_t selectors) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t selector = selectors >> 4 * i & 15;
    uint32_t byte = bytes >> 8 * (selector & 7) & 255;
    if (selector & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}

// Of a signed T the highest bit that there is repeats itself above.
template <typename T>
inline T ExtractBits(T x, uint32_t position, uint32_t count) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  position &= 255, count &= 255;
  if (count == 0) return 0;
  const uint32_t above = kBits - std::min(position + count, kBits);
  return ShiftRight(ShiftLeft(x, above), position + above);
}
template <typename U>
inline U InsertBits(U x, U into, uint32_t position, uint32_t count) {
  constexpr uint32_t kBits = 8 * sizeof(U);
  position &= 255, count &= 255;
  if (position >= kBits || count == 0) return into;
  const U mask = (count >= kBits ? ~U{0} : (U{1} << count) - 1) << position;
  return (into & ~mask) | (x << position & mask);
}
inline uint32_t BitMask(uint32_t position, uint32_t count) {
  return InsertBits<uint32_t>(~0u, 0, std::min(position, 32u),
                              std::min(count, 32u));
}
template <typename T>
inline uint32_t LeadingZeros(T x) {
  const uint64_t bits = static_cast<std::make_unsigned_t<T>>(x);
  return (bits == 0 ? 64 : __builtin_clzll(bits)) - (64 - 8 * sizeof(T));
}
template <typename T>
inline uint32_t FindBit(T x, bool as_shift) {
  const T bits = x < 0 ? ~x : x;
  if (bits == 0) return ~0u;
  const uint32_t zeros = LeadingZeros(bits);
  return as_shift ? zeros : 8 * sizeof(T) - 1 - zeros;
}
template <typename T>
inline T ReverseBits(T x) {
  T result = 0;
  for (size_t i = 0; i < 8 * sizeof(T); ++i) {
    result = static_cast<T>(result << 1 | (x >> i & 1));
  }
  return result;
}
// The n-th bit that is set from `base` upwards; downwards, if n < 0.
inline uint32_t FindNthSet(uint32_t mask, int base, int n) {
  int left = std::max(std::abs(n), 1);
  for (int i = base; i >= 0 && i < 32; i += n < 0 ? -1 : 1) {
    if ((mask >> i & 1) != 0 && --left == 0) return i;
    if (n == 0) break;
  }
  return ~0u;
}
template <typename A, typename B>
inline uint32_t Dot4(A a, B b, uint32_t sum) {
  for (int i = 0; i < 4; ++i) {
    sum += ExtractBits(a, 8 * i, 8) * ExtractBits(b, 8 * i, 8);
  }
  return sum;
}

// Of an integral float: out of range gives the nearest, NaN 0, or 2^63 for 64
// bits.
template <typename I, typename F>
inline I ToInteger(F x) {
  using Limits = std::numeric_limits<I>;
  if (x != x) return sizeof(I) == 8 ? static_cast<I>(uint64_t{1} << 63) : I{0};
  if (x <= static_cast<F>(Limits::min())) return Limits::min();
  if (x >= static_cast<F>(Limits::max())) return Limits::max();
  return static_cast<I>(x);
}
template <typename To, typename From>
inline To SaturateInt(From x) {
  using Limits = std::numeric_limits<To>;
  const __int128 wide = x;
  return static_cast<To>(
      std::clamp<__int128>(wide, Limits::min(), Limits::max()));
}

}  // namespace ptx

#endif  // TESTS_PTX_INSTRUCTIONS_H_
