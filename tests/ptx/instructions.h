// What PTX's arithmetic instructions compute ("PTX ISA" 9.0, chapter 9), for
// the C++ that translate.py writes.
#ifndef TESTS_PTX_INSTRUCTIONS_H_
#define TESTS_PTX_INSTRUCTIONS_H_

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
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

// Floats of registers, and back: NaNs that instructions compute are canonical.
inline float F32(uint32_t bits) { return BitCast<float>(bits); }
inline double F64(uint64_t bits) { return BitCast<double>(bits); }
inline uint32_t Bits(float x) {
  return x != x ? 0x7fffffff : BitCast<uint32_t>(x);
}
inline uint64_t Bits(double x) {
  return x != x ? 0xfff8000000000000 : BitCast<uint64_t>(x);
}

inline float FromBf16(uint16_t bits) { return F32(uint32_t{bits} << 16); }
inline uint16_t ToBf16(float x) {
  if (x != x) return 0x7fff;
  const uint32_t bits = BitCast<uint32_t>(x);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline uint16_t ToBf16(double x) {
  // Rounds to odd first, so that rounding twice does no harm.
  const float nearest = static_cast<float>(x);
  uint32_t bits = BitCast<uint32_t>(nearest);
  if (nearest != x && nearest == nearest && (bits & 1) == 0) {
    const bool beyond = std::fabs(static_cast<double>(nearest)) > std::fabs(x);
    bits = beyond ? bits - 1 : bits + 1;
  }
  return ToBf16(F32(bits));
}
inline uint16_t ToBf16TowardZero(float x) {
  return x != x ? 0x7fff : static_cast<uint16_t>(BitCast<uint32_t>(x) >> 16);
}
inline float FromF16(uint16_t bits) {
  return static_cast<float>(BitCast<_Float16>(bits));
}
inline uint16_t ToF16(float x) {
  return x != x ? 0x7fff : BitCast<uint16_t>(static_cast<_Float16>(x));
}
inline uint16_t ToF16(double x) {
  return x != x ? 0x7fff : BitCast<uint16_t>(static_cast<_Float16>(x));
}
inline uint16_t ToF16TowardZero(float x) {
  uint16_t bits = ToF16(x);
  if (x == x && std::fabs(FromF16(bits)) > std::fabs(x)) --bits;
  return bits;
}

// Sets the rounding of floats while it exists. fesetround costs more: it also
// sets the x87 unit's.
class Rounding {
 public:
  explicit Rounding(int mode) : before_(std::fegetround()) {
    std::fesetround(mode);
  }
  ~Rounding() { std::fesetround(before_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  const int before_;
};

template <typename F>
inline bool IsNan(F x, F y) {
  return x != x || y != y;
}

// Of a number and a NaN, the number; -0 is less than 0.
template <typename F>
inline F Min(F x, F y) {
  if (x != x) return y;
  if (y != y) return x;
  if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}
template <typename F>
inline F Max(F x, F y) {
  if (x != x) return y;
  if (y != y) return x;
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}
template <typename F>
inline F NanOr(F result, F x, F y) {
  return IsNan(x, y) ? std::numeric_limits<F>::quiet_NaN() : result;
}

template <typename F>
inline F Saturate(F x) {
  return x != x || x < 0 ? 0 : x > 1 ? 1 : x;
}
template <typename F>
inline F Relu(F x) {
  return x < 0 ? 0 : x;
}
// Subnormal numbers become zeros of their sign (.ftz).
inline float Flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
// rcp.approx.ftz.f64 and its like compute the upper half of the bits.
inline double UpperHalf(double x) {
  return F64(BitCast<uint64_t>(x) & 0xffffffff00000000);
}

template <typename T>
inline T AddWithCarry(T x, T y, bool carry, bool* carried) {
  T sum;
  const bool first = __builtin_add_overflow(x, y, &sum);
  const bool second = __builtin_add_overflow(sum, T{carry}, &sum);
  *carried = first || second;
  return sum;
}
// The carry stands for a borrow.
template <typename T>
inline T SubtractWithCarry(T x, T y, bool borrow, bool* borrowed) {
  T difference;
  const bool first = __builtin_sub_overflow(x, y, &difference);
  const bool second =
      __builtin_sub_overflow(difference, T{borrow}, &difference);
  *borrowed = first || second;
  return difference;
}

// Division by zero gives all ones, and no result overflows.
template <typename T>
inline T Quotient(T x, T y) {
  using U = std::make_unsigned_t<T>;
  if (y == 0) return static_cast<T>(~U{0});
  if (std::is_signed_v<T> && y == static_cast<T>(-1)) {
    return static_cast<T>(U{0} - static_cast<U>(x));
  }
  return static_cast<T>(x / y);
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
  return static_cast<T>(static_cast<Wide>(x) * static_cast<Wide>(y) >>
                        8 * sizeof(T));
}
inline uint32_t Low24(uint32_t x) { return x & 0xffffff; }
inline int32_t Low24(int32_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) << 8) >> 8;
}

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

template <typename T>
inline T ExtractBits(T x, uint32_t position, uint32_t count) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t kBits = 8 * sizeof(T);
  position &= 255, count &= 255;
  if (count == 0) return 0;
  const uint32_t last = std::min(position + count - 1, kBits - 1);
  const bool negative = std::is_signed_v<T> && (static_cast<U>(x) >> last & 1);
  U bits = position >= kBits ? U{0} : static_cast<U>(x) >> position;
  const uint32_t kept = position >= kBits ? 0 : last - position + 1;
  if (kept < kBits) {
    const U mask = (U{1} << kept) - 1;
    bits &= mask;
    if (negative) bits |= ~mask;
  }
  return static_cast<T>(bits);
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
  return x == 0 ? 8 * sizeof(T)
                : __builtin_clzll(x) - (64 - 8 * static_cast<int>(sizeof(T)));
}
template <typename T>
inline uint32_t FindBit(T x, bool as_shift) {
  using U = std::make_unsigned_t<T>;
  const U bits = static_cast<U>(std::is_signed_v<T> && x < 0 ? ~x : x);
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
inline uint32_t FindNthSet(uint32_t mask, uint32_t base, int32_t offset) {
  int32_t left = offset > 0 ? offset - 1 : -offset - (offset < 0);
  for (int32_t i = static_cast<int32_t>(base); i >= 0 && i < 32;
       i += offset < 0 ? -1 : 1) {
    if ((mask >> i & 1) == 0) {
      if (offset == 0) break;
      continue;
    }
    if (left-- == 0) return static_cast<uint32_t>(i);
  }
  return ~0u;
}
template <typename A, typename B>
inline uint32_t Dot4(uint32_t a, uint32_t b, uint32_t sum) {
  for (int i = 0; i < 4; ++i) {
    sum +=
        static_cast<uint32_t>(static_cast<int32_t>(static_cast<A>(a >> 8 * i)) *
                              static_cast<int32_t>(static_cast<B>(b >> 8 * i)));
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
