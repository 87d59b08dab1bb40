// Rounding whole vectors gives the same bits as rounding one value at a time.
#include "compressors/value_codes/level_loops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "compressors/value_codes/levels.h"
#include "compressors/value_codes/philox.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

struct Result {
  std::vector<uint8_t> codes;
  std::vector<float> lost;
};

template <typename Levels>
Result RoundOneByOne(const std::vector<float>& values, float scale, int bits,
                     const std::vector<float>& draws) {
  const int s = (1 << (bits - 1)) - 1;
  Result result;
  for (size_t i = 0; i < values.size(); ++i) {
    const float r =
        scale > 0 ? std::min(std::fabs(values[i]) / scale, 1.0f) : 0.0f;
    const int level = Levels::Round(r, s, draws[i]);
    const bool negative = values[i] < 0 && level > 0;
    result.codes.push_back(
        static_cast<uint8_t>(level | negative << (bits - 1)));
    // volatile, so that the product is rounded to float.
    volatile float decoded = scale * Levels::Value(level, s);
    if (negative) decoded = -decoded;
    result.lost.push_back(values[i] - decoded);
  }
  return result;
}

Result RoundTogether(void (*round)(const LevelStretch&),
                     const std::vector<float>& values, float scale, int bits,
                     const std::vector<float>& draws) {
  Result result;
  result.lost = values;
  result.codes.assign(values.size(), 0xee);
  LevelStretch stretch;
  stretch.scale = scale;
  stretch.bits = bits;
  stretch.n = static_cast<int64_t>(values.size());
  stretch.draws = draws.data();
  stretch.values = result.lost.data();
  stretch.codes = result.codes.data();
  round(stretch);
  return result;
}

TEST(LevelLoopsTest, VectorsGiveTheBitsOfSingleValues) {
  for (const std::string& law : VectorNames()) {
    for (const int64_t n : {0, 1, 7, 8, 9, 31, 33, 1025}) {
      std::vector<float> values = MakeVector(law, n, 3);
      if (n > 8) values[5] = -0.0f;
      float largest = 0;
      for (const float value : values) {
        largest = std::max(largest, std::fabs(value));
      }
      std::vector<float> draws(n);
      UniformDraws(17).Fill(0, absl::MakeSpan(draws));
      if (n > 8) draws[2] = 0;
      // On both sides of the range in use, and so small that levels are
      // denormal.
      for (const float scale : {largest, 20 * largest, 0.7f * largest}) {
        for (const int bits : {2, 3, 4, 5, 8}) {
          SCOPED_TRACE(testing::Message() << law << " " << n << " " << bits);
          const Result uniform =
              RoundTogether(RoundToUniformLevels, values, scale, bits, draws);
          const Result uniform_expected =
              RoundOneByOne<UniformLevels>(values, scale, bits, draws);
          ASSERT_EQ(uniform.codes, uniform_expected.codes);
          ASSERT_EQ(Bits(uniform.lost), Bits(uniform_expected.lost));
          const Result exponential = RoundTogether(RoundToExponentialLevels,
                                                   values, scale, bits, draws);
          const Result exponential_expected =
              RoundOneByOne<ExponentialLevels>(values, scale, bits, draws);
          ASSERT_EQ(exponential.codes, exponential_expected.codes);
          ASSERT_EQ(Bits(exponential.lost), Bits(exponential_expected.lost));
        }
      }
    }
  }
}

}  // namespace
}  // namespace ps
