// Division by multiplication, compared with division.

#include "tensor/cuda/layer_device/divisor.h"

#include <cstdint>
#include <limits>

#include "common/random.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();

void ExpectDivides(int64_t n, int64_t d) {
  int64_t remainder = -1;
  const Divisor divisor(d);
  ASSERT_EQ(divisor.Quotient(n), n / d) << n << " / " << d;
  ASSERT_EQ(divisor.Remainder(n), n % d) << n << " / " << d;
  ASSERT_EQ(divisor.Divide(n, &remainder), n / d) << n << " / " << d;
  ASSERT_EQ(remainder, n % d) << n << " / " << d;
}

TEST(Divisor, EqualsDivisionForAllSmallNumbers) {
  for (int64_t d = 1; d <= 300; ++d) {
    for (int64_t n = 0; n <= 2000; ++n) ExpectDivides(n, d);
  }
}

// A wrong multiplier shows first at and next to the multiples of large
// divisors.
TEST(Divisor, EqualsDivisionAroundMultiplesUpToTheLimit) {
  RandomStream random(RandomKey(1));
  for (int i = 0; i < 20000; ++i) {
    const int64_t d =
        1 + static_cast<int64_t>(random.Below(uint64_t{1} << (1 + i % 31)));
    const int64_t multiple = kLimit / d * d;
    for (const int64_t n : {multiple - 1, multiple, kLimit - 1, kLimit}) {
      ExpectDivides(n, d);
    }
    ExpectDivides(static_cast<int64_t>(random.Below(uint64_t{kLimit} + 1)), d);
  }
  for (int bits = 0; bits < 31; ++bits) {
    for (const int64_t d : {(int64_t{1} << bits) - 1, int64_t{1} << bits,
                            (int64_t{1} << bits) + 1}) {
      if (d < 1) continue;
      ExpectDivides(kLimit, d);
      ExpectDivides(kLimit / d * d - 1, d);
    }
  }
}

TEST(Divisor, NumbersBeyond31BitsAreDividedToo) {
  for (const int64_t n :
       {kLimit + 1, int64_t{1} << 40, std::numeric_limits<int64_t>::max()}) {
    for (const int64_t d : {int64_t{1}, int64_t{3}, kLimit, kLimit + 1,
                            int64_t{1} << 40, (int64_t{1} << 40) + 7}) {
      ExpectDivides(n, d);
    }
  }
  ExpectDivides(5, int64_t{1} << 33);
}

}  // namespace
}  // namespace ps
