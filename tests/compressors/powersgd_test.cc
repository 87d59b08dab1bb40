// PowerSGD: the error of its factors, when it sends them, and how they are
// read.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "compressors/powersgd/low_rank_factors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

using testing::HasSubstr;

HarnessOptions Options(const Shape& shape, int rank, uint64_t seed = 0) {
  HarnessOptions options;
  options.config = CompressorConfigFrom(
      absl::StrCat("name: 'powersgd' powersgd { rank: ", rank, " }"));
  options.tensors = {{0, shape}};
  options.dense_size = NumElements(shape);
  options.seed = seed;
  return options;
}

double Norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

// The i-th of n orthonormal vectors, those of the cosine transform.
double Cosine(int64_t i, int64_t j, int64_t n) {
  const double scale = std::sqrt((i == 0 ? 1.0 : 2.0) / n);
  return scale * std::cos(M_PI * i * (j + 0.5) / n);
}

// A matrix with these singular values, in descending order.
std::vector<float> WithSpectrum(int64_t rows, int64_t cols,
                                const std::vector<double>& spectrum) {
  std::vector<float> matrix(rows * cols);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      double sum = 0;
      for (size_t k = 0; k < spectrum.size(); ++k) {
        sum += spectrum[k] * Cosine(k, i, rows) * Cosine(k, j, cols);
      }
      matrix[i * cols + j] = static_cast<float>(sum);
    }
  }
  return matrix;
}

TEST(PowerSgdTest, MatrixOfTheRankIsReproduced) {
  const std::vector<float> matrix = WithSpectrum(60, 80, {5, 3, 2, 1});
  Harness harness(Options({60, 80}, 4));
  const EncodedGradient encoded = harness.Compress(matrix);
  EXPECT_LT(Norm(harness.residual()), 1e-5 * Norm(matrix));
  // Payload header, head of the piece, factors.
  EXPECT_EQ(encoded.parts[0].size_bytes(), 32 + 16 + 4 * (60 + 80) * 4);
  EXPECT_EQ(encoded.stats.count, 60 * 80);
}

TEST(PowerSgdTest, ConvolutionIsAMatrixOfItsOutputs) {
  // As a matrix of 16 rows it has rank 1; as other matrices, a higher rank.
  RandomStream random(3);
  std::vector<float> rest(6 * 5 * 5);
  for (float& each : rest) each = static_cast<float>(random.Normal());
  std::vector<float> gradient;
  for (int i = 0; i < 16; ++i) {
    const float factor = static_cast<float>(random.Normal());
    for (const float each : rest) gradient.push_back(factor * each);
  }
  Harness harness(Options({16, 6, 5, 5}, 1));
  harness.Compress(gradient);
  EXPECT_LT(Norm(harness.residual()), 1e-5 * Norm(gradient));
}

// Drops the residual, so that the matrix stays the same.
TEST(PowerSgdTest, WarmStartReachesTheBestErrorAndColdDoesNot) {
  constexpr int kRank = 2;
  std::vector<double> spectrum;
  for (int i = 0; i < 40; ++i) spectrum.push_back(std::pow(0.9, i));
  const std::vector<float> matrix = WithSpectrum(40, 50, spectrum);
  double best = 0;
  for (size_t i = kRank; i < spectrum.size(); ++i) {
    best += spectrum[i] * spectrum[i];
  }
  best = std::sqrt(best);
  const std::vector<float> zero(matrix.size(), 0.0f);

  Harness warm(Options({40, 50}, kRank));
  for (int iteration = 0; iteration < 80; ++iteration) {
    warm.set_residual(zero);
    warm.Compress(matrix);
  }
  EXPECT_LT(Norm(warm.residual()), 1.0001 * best);
  EXPECT_GT(Norm(warm.residual()), 0.9999 * best);

  double cold_error = 0;
  constexpr int kSeeds = 20;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Harness cold(Options({40, 50}, kRank, seed));
    cold.Compress(matrix);
    cold_error += Norm(cold.residual()) / kSeeds;
  }
  EXPECT_GT(cold_error, 1.05 * best);
}

TEST(PowerIterationTest, ColumnsOfPAreOrthonormal) {
  LowRankFactors factors;
  factors.rows = 33;
  factors.cols = 41;
  factors.rank = 4;
  factors.q = MakeVector("gaussian", 4 * 41, 1);
  const std::vector<float> matrix = MakeVector("laplace", 33 * 41, 2);
  PowerIteration(matrix.data(), &factors);
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b <= a; ++b) {
      double sum = 0;
      for (int i = 0; i < 33; ++i) {
        sum += double{factors.p[i * 4 + a]} * factors.p[i * 4 + b];
      }
      EXPECT_NEAR(sum, a == b ? 1 : 0, 1e-6);
    }
  }
}

TEST(PowerIterationTest, DependentColumnsBecomeZero) {
  LowRankFactors factors;
  factors.rows = 30;
  factors.cols = 40;
  factors.rank = 3;
  factors.q = MakeVector("gaussian", 3 * 40, 1);
  const std::vector<float> ones(30 * 40, 1.0f);
  PowerIteration(ones.data(), &factors);
  for (int i = 0; i < 30; ++i) {
    EXPECT_NEAR(std::fabs(factors.p[3 * i]), 1 / std::sqrt(30.0), 1e-6);
    EXPECT_EQ(factors.p[3 * i + 1], 0);
    EXPECT_EQ(factors.p[3 * i + 2], 0);
  }
  for (int j = 0; j < 80; ++j) EXPECT_EQ(factors.q[40 + j], 0);
}

TEST(PowerSgdTest, GoesOnAfterAGradientOfZeros) {
  const std::vector<float> matrix = WithSpectrum(40, 50, {3, 1});
  Harness harness(Options({40, 50}, 4));
  harness.Compress(std::vector<float>(2000, 0.0f));
  EXPECT_EQ(harness.residual(), std::vector<float>(2000, 0.0f));
  harness.Compress(matrix);
  EXPECT_LT(Norm(harness.residual()), 1e-5 * Norm(matrix));
}

TEST(PowerSgdTest, PartsDecodeToTheSameValues) {
  const std::vector<int64_t> cuts[] = {
      {1, 49, 50, 51, 1234, 1234, 2000}, {1000, 2000}, {700, 1300, 2000}};
  for (const std::vector<int64_t>& part_ends : cuts) {
    HarnessOptions options = Options({40, 50}, 2);
    Harness whole(options);
    options.part_ends = part_ends;
    Harness cut(options);
    for (int iteration = 0; iteration < 3; ++iteration) {
      const std::vector<float> gradient =
          MakeVector("laplace", 2000, iteration);
      EXPECT_EQ(Bits(whole.Decode(whole.Compress(gradient))),
                Bits(cut.Decode(cut.Compress(gradient))));
      EXPECT_EQ(Bits(whole.residual()), Bits(cut.residual()));
      EXPECT_EQ(whole.compressor().SaveState(), cut.compressor().SaveState());
    }
  }
}

TEST(PowerSgdTest, NoPartIsLongerThanItsValues) {
  HarnessOptions options = Options({40, 50}, 2);
  // A part of a row, and too few rows to pay for all columns.
  options.part_ends = {30, 130, 2000};
  Harness harness(options);
  const EncodedGradient encoded =
      harness.Compress(MakeVector("laplace", 2000, 1));
  EXPECT_EQ(encoded.parts[0].size_bytes(), 32u + 8 + 4 * 30);
  EXPECT_EQ(encoded.parts[1].size_bytes(), 32u + 8 + 4 * 100);
  EXPECT_EQ(encoded.parts[2].size_bytes(), 32u + 16 + 4 * (38 + 50) * 2);
}

TEST(PowerSgdTest, WhatDoesNotPayIsSentAsItIs) {
  const auto kept = [](const HarnessOptions& options) {
    Harness harness(options);
    const std::vector<float> gradient =
        MakeVector("laplace", options.dense_size, 1);
    harness.Compress(gradient);
    return Norm(harness.residual());
  };
  EXPECT_EQ(kept(Options({2000}, 1)), 0);
  HarnessOptions unknown = Options({2000}, 1);
  unknown.tensors.clear();
  EXPECT_EQ(kept(unknown), 0);
  // (20 + 20) x 5 x 2 is just not below 400.
  EXPECT_EQ(kept(Options({20, 20}, 5)), 0);
  EXPECT_GT(kept(Options({20, 20}, 4)), 0);
  HarnessOptions less = Options({20, 20}, 5);
  less.config.mutable_powersgd()->set_min_compression_rate(1.9);
  EXPECT_GT(kept(less), 0);
}

TEST(PowerSgdTest, MatrixWhoseFactorsWouldOverflowIsSentAsItIs) {
  Harness harness(Options({40, 50}, 2));
  const std::vector<float> huge(2000, std::numeric_limits<float>::max() / 2);
  const EncodedGradient encoded = harness.Compress(huge);
  EXPECT_EQ(encoded.stats.fallback, "overflow");
  EXPECT_EQ(harness.Decode(encoded), huge);
}

TEST(PowerSgdTest, StateCarriesTheWarmStart) {
  const HarnessOptions options = Options({40, 50}, 2);
  Harness original(options);
  original.Compress(MakeVector("laplace", 2000, 1));
  Harness fresh(options);
  Harness restored(options);
  const std::string state = original.compressor().SaveState();
  ASSERT_TRUE(restored.compressor().LoadState(state).ok());
  fresh.set_residual(original.residual());
  restored.set_residual(original.residual());
  const std::vector<float> next = MakeVector("laplace", 2000, 2);
  const std::string expected = Bytes(original.Compress(next));
  EXPECT_EQ(Bytes(restored.Compress(next)), expected);
  EXPECT_NE(Bytes(fresh.Compress(next)), expected);
  // States of other shapes: too short, too long.
  Harness smaller(Options({40, 49}, 2));
  EXPECT_EQ(smaller.compressor().LoadState(state).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(
      original.compressor().LoadState(smaller.compressor().SaveState()).code(),
      absl::StatusCode::kDataLoss);
}

std::string Error(const std::string& payload, int64_t size) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(payload.data());
  const auto info = ValidatePayload({{bytes, payload.size()}}, size);
  return info.ok() ? "accepted" : std::string(info.status().message());
}

template <typename Field>
std::string With(std::string payload, size_t offset, Field value) {
  std::memcpy(&payload[offset], &value, sizeof(value));
  return payload;
}

TEST(PowerSgdTest, FaultsAreNamed) {
  HarnessOptions options = Options({10, 10}, 1);
  options.tensors.push_back({100, {4}});
  options.dense_size = 104;
  Harness harness(options);
  const EncodedGradient encoded =
      harness.Compress(MakeVector("laplace", 104, 1));
  const std::string good(
      encoded.parts[0].data(),
      encoded.parts[0].data() + encoded.parts[0].size_bytes());
  // Rank at 32, length, cols, first, 20 factors; rank at 128, length, 4 values.
  ASSERT_EQ(good.size(), 32u + 16 + 80 + 8 + 16);
  const auto error = [](const std::string& bytes) { return Error(bytes, 104); };
  ASSERT_EQ(error(good), "accepted");
  EXPECT_THAT(error(With<uint8_t>(good, 1, 3)), HasSubstr("with indices"));
  EXPECT_THAT(error(With<uint32_t>(good, 32, 65)), HasSubstr("rank 65"));
  EXPECT_THAT(error(With<uint32_t>(good, 32, 5)), HasSubstr("100 factors"));
  EXPECT_THAT(error(With<uint32_t>(good, 32, 2)), HasSubstr("numbers in"));
  EXPECT_THAT(error(With<uint32_t>(good, 36, 105)), HasSubstr("105 values"));
  EXPECT_THAT(error(With<uint32_t>(good, 36, 0)), HasSubstr("factors for 0"));
  EXPECT_THAT(error(With<uint32_t>(good, 36, 99)), HasSubstr("1 values are"));
  EXPECT_THAT(error(With<uint32_t>(good, 40, 0)), HasSubstr("column 0 of 0"));
  EXPECT_THAT(error(With<uint32_t>(good, 40, ~0u)), HasSubstr("factors for"));
  EXPECT_THAT(error(With<uint32_t>(good, 44, 10)), HasSubstr("column 10"));
  EXPECT_THAT(error(With<uint32_t>(good, 132, 0)), HasSubstr("of 0 values"));
  EXPECT_THAT(error(With<uint32_t>(good, 132, 5)), HasSubstr("of 5 values"));
  EXPECT_THAT(error(With<uint32_t>(good, 4, 103)), HasSubstr("4 values; 3"));
  for (const float bad : {INFINITY, NAN}) {
    for (size_t at = 48; at < 128; at += 4) {
      EXPECT_THAT(error(With<float>(good, at, bad)), HasSubstr("not finite"));
    }
  }
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(error(good.substr(0, size)), "accepted");
  }
}

}  // namespace
}  // namespace ps
