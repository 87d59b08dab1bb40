// The laws that every registered compressor obeys; those that involve indices
// are checked with every index code.
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_join.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

class CompressorContractTest : public testing::TestWithParam<std::string> {
 protected:
  HarnessOptions Options(int64_t n, double ratio = 0.05) const {
    HarnessOptions options;
    options.config.set_name(GetParam());
    options.config.set_ratio(ratio);
    options.dense_size = n;
    options.tensors = SomeTensors(n);
    return options;
  }
  bool writes_own_code() const {
    return FindCompressor(GetParam()).writes_own_code;
  }
};

// Compressor and index code.
class CodedCompressorContractTest
    : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  HarnessOptions Options(int64_t n, double ratio = 0.05) const {
    HarnessOptions options;
    options.config.set_name(std::get<0>(GetParam()));
    options.config.set_index_code(std::get<1>(GetParam()));
    options.config.set_ratio(ratio);
    options.dense_size = n;
    options.tensors = SomeTensors(n);
    return options;
  }

  void SetUp() override {
    if (!writes_own_code() || std::get<1>(GetParam()) == "auto") return;
    EXPECT_THAT(NewCompressorStatus(Options(1)).message(),
                testing::HasSubstr("writes a code of its own"));
    GTEST_SKIP() << "this compressor has no choice of codes";
  }

  // If true, the values sent are rounded, and the ratio has no effect.
  bool writes_own_code() const {
    return FindCompressor(std::get<0>(GetParam())).writes_own_code;
  }
};

// Returns MakeVector's result, which is made only once because making it takes
// longer than compressing it.
const std::vector<float>& SharedVector(const std::string& name, int64_t n,
                                       uint64_t seed) {
  static auto* const made =
      new std::map<std::tuple<std::string, int64_t, uint64_t>,
                   std::vector<float>>;
  auto& vector = (*made)[{name, n, seed}];
  if (vector.empty()) vector = MakeVector(name, n, seed);
  return vector;
}

std::vector<int64_t> Sizes() { return {0, 1, 31, 32, 33, 1023, 1024, 1025}; }
// Three chunks of the kernels, the last one short and odd.
constexpr int64_t kLarge = 140003;

std::vector<int64_t> FourParts(int64_t n) {
  // One part is empty, and the others differ in length.
  return {n / 3, n / 3, n - n / 5, n};
}

// Checks that residual before + gradient = decoded payload + residual after; if
// the values sent are rounded, up to one rounding of the difference.
void ExpectConserved(bool rounded, const std::vector<float>& before,
                     const std::vector<float>& gradient,
                     const std::vector<float>& decoded,
                     const std::vector<float>& after) {
  for (size_t i = 0; i < gradient.size(); ++i) {
    const float u = before[i] + gradient[i];
    // A macro per element, for millions of elements, would take most of the
    // time.
    if (rounded ? u - decoded[i] == after[i] : u == decoded[i] + after[i]) {
      continue;
    }
    FAIL() << before[i] << " + " << gradient[i] << " became " << decoded[i]
           << " + " << after[i] << " at " << i;
  }
}

TEST_P(CodedCompressorContractTest, SentPlusKeptIsResidualPlusGradient) {
  std::vector<int64_t> sizes = Sizes();
  sizes.push_back(kLarge);
  for (const int64_t n : sizes) {
    for (const std::string& vector_name : VectorNames()) {
      for (const bool several_parts : {false, true}) {
        if (n == kLarge && !several_parts) continue;  // Too slow.
        SCOPED_TRACE(testing::Message() << vector_name << " of " << n
                                        << ", several parts " << several_parts);
        HarnessOptions options = Options(n);
        if (several_parts) options.part_ends = FourParts(n);
        Harness harness(options);
        for (int iteration = 0; iteration < 3; ++iteration) {
          const std::vector<float>& gradient =
              SharedVector(vector_name, n, iteration);
          const std::vector<float> before = harness.residual();
          const EncodedGradient encoded = harness.Compress(gradient);
          EXPECT_FALSE(encoded.stats.non_finite);
          EXPECT_EQ(encoded.stats.count,
                    static_cast<int64_t>(harness.Positions(encoded).size()));
          ExpectConserved(writes_own_code(), before, gradient,
                          harness.Decode(encoded), harness.residual());
        }
      }
    }
  }
}

TEST_P(CompressorContractTest, ThreadsDoNotShow) {
  for (const std::string& vector_name : VectorNames()) {
    SCOPED_TRACE(vector_name);
    HarnessOptions options = Options(kLarge);
    options.part_ends = FourParts(kLarge);
    Harness one(options);
    options.num_threads = 3;
    Harness three(options);
    for (int iteration = 0; iteration < 4; ++iteration) {
      const std::vector<float>& gradient =
          SharedVector(vector_name, kLarge, iteration);
      EXPECT_EQ(Bytes(one.Compress(gradient)), Bytes(three.Compress(gradient)));
      EXPECT_EQ(Bits(one.residual()), Bits(three.residual()));
      EXPECT_EQ(one.compressor().SaveState(), three.compressor().SaveState());
    }
  }
}

TEST_P(CompressorContractTest, EverythingArrivesInTheEnd) {
  constexpr int64_t kSize = 1500;
  Harness harness(Options(kSize));
  // All values are multiples of a power of two, so every sum of them is exact.
  std::vector<float> gradient = MakeVector("laplace", kSize, 7);
  for (float& each : gradient) each = std::round(each * 64) / 64;
  std::vector<float> received = harness.Decode(harness.Compress(gradient));
  const std::vector<float> nothing(kSize, 0.0f);
  // With 5 % per step, 20 steps are enough if each sends what is left. With
  // random selection, the last of 1500 is sent after 300 steps, give or take
  // 40. With rounding, every element must be sent several times.
  const int iterations = writes_own_code() ? 6000 : 600;
  for (int iteration = 0;
       iteration < iterations && harness.residual() != nothing; ++iteration) {
    const std::vector<float> decoded =
        harness.Decode(harness.Compress(nothing));
    for (int64_t i = 0; i < kSize; ++i) received[i] += decoded[i];
  }
  if (!writes_own_code()) {
    EXPECT_EQ(received, gradient);
    EXPECT_EQ(harness.residual(), nothing);
    return;
  }
  for (int64_t i = 0; i < kSize; ++i) {
    EXPECT_NEAR(received[i], gradient[i], 1e-4) << "at " << i;
    EXPECT_NEAR(harness.residual()[i], 0, 1e-4) << "at " << i;
  }
}

TEST_P(CompressorContractTest, NonFiniteGradientChangesNothing) {
  const float kBad[] = {std::numeric_limits<float>::quiet_NaN(),
                        -std::numeric_limits<float>::quiet_NaN(),
                        std::numeric_limits<float>::infinity(),
                        -std::numeric_limits<float>::infinity()};
  for (const int64_t n : {int64_t{1}, int64_t{33}, int64_t{1025}, kLarge}) {
    for (const float bad : kBad) {
      HarnessOptions options = Options(n);
      options.part_ends = FourParts(n);
      Harness harness(options);
      harness.Compress(SharedVector("gaussian", n, 1));
      const std::vector<float> before = harness.residual();
      const std::string state = harness.compressor().SaveState();
      std::vector<float> gradient = SharedVector("gaussian", n, 2);
      gradient[n - 1 - n / 3] = bad;
      const EncodedGradient encoded = harness.Compress(gradient);
      EXPECT_TRUE(encoded.stats.non_finite);
      EXPECT_EQ(encoded.stats.count, 0);
      EXPECT_EQ(harness.Positions(encoded).size(), 0u);
      EXPECT_EQ(harness.Decode(encoded), std::vector<float>(n, 0.0f));
      EXPECT_EQ(Bits(harness.residual()), Bits(before));
      EXPECT_EQ(harness.compressor().SaveState(), state);
    }
  }
}

TEST_P(CompressorContractTest, SumThatOverflowsChangesNothing) {
  Harness harness(Options(100));
  const std::vector<float> huge(100, 3e38f);
  harness.set_residual(huge);
  const EncodedGradient encoded = harness.Compress(huge);
  EXPECT_TRUE(encoded.stats.non_finite);
  EXPECT_EQ(harness.residual(), huge);
}

TEST_P(CompressorContractTest, RestoredStateContinuesInTheSameBits) {
  constexpr int64_t kSize = 20000;
  Harness original(Options(kSize, 0.01));
  for (int iteration = 0; iteration < 8; ++iteration) {
    original.Compress(MakeVector("gaussian", kSize, iteration));
  }
  Harness restored(Options(kSize, 0.01));
  restored.set_residual(original.residual());
  ASSERT_TRUE(
      restored.compressor().LoadState(original.compressor().SaveState()).ok());
  for (int iteration = 8; iteration < 24; ++iteration) {
    const std::vector<float> gradient =
        MakeVector("gaussian", kSize, iteration);
    EXPECT_EQ(Bytes(original.Compress(gradient)),
              Bytes(restored.Compress(gradient)));
    EXPECT_EQ(Bits(original.residual()), Bits(restored.residual()));
  }
  EXPECT_EQ(original.compressor().SaveState(),
            restored.compressor().SaveState());
}

TEST_P(CompressorContractTest, DamagedStateIsRefusedAndChangesNothing) {
  Harness harness(Options(20000, 0.01));
  for (int iteration = 0; iteration < 7; ++iteration) {
    harness.Compress(MakeVector("laplace", 20000, iteration));
  }
  const std::string good = harness.compressor().SaveState();
  Compressor& compressor = harness.compressor();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(compressor.LoadState(good.substr(0, size)).code(),
              absl::StatusCode::kDataLoss);
  }
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    EXPECT_EQ(compressor.LoadState(bad).code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_EQ(compressor.LoadState(good + '\0').code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(compressor.SaveState(), good);
  EXPECT_TRUE(compressor.LoadState(good).ok());
}

TEST_P(CompressorContractTest, WrongSizesAreRefused) {
  HarnessOptions options = Options(100);
  CpuBackendOptions backend_options;
  const auto backend = NewCpuBackend(backend_options);
  ASSERT_TRUE(backend.ok());
  CompressorOptions compressor_options;
  compressor_options.config = options.config;
  compressor_options.dense_size = 100;
  compressor_options.backend = backend->get();
  const auto compressor = NewCompressor(compressor_options);
  ASSERT_TRUE(compressor.ok());
  Tensor right = *(*backend)->Allocate({100});
  Tensor wrong = *(*backend)->Allocate({99});
  EXPECT_EQ((*compressor)->Compress(wrong, &right).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*compressor)->Compress(right, &wrong).status().code(),
            absl::StatusCode::kInvalidArgument);

  compressor_options.part_ends = {50, 40, 100};
  EXPECT_EQ(NewCompressor(compressor_options).status().code(),
            absl::StatusCode::kInvalidArgument);
  compressor_options.part_ends = {50, 99};
  EXPECT_EQ(NewCompressor(compressor_options).status().code(),
            absl::StatusCode::kInvalidArgument);
  compressor_options.part_ends.clear();
  compressor_options.tensors = {{0, {60}}, {60, {13, 3}}};
  EXPECT_EQ(NewCompressor(compressor_options).status().message(),
            "tensors end at 99; must end at dense_size, 100");
  compressor_options.tensors = {{0, {60}}, {61, {39}}};
  EXPECT_EQ(NewCompressor(compressor_options).status().message(),
            "a tensor begins at 61; must begin at 60");
  compressor_options.tensors.clear();
  compressor_options.dense_size = int64_t{1} << 32;
  EXPECT_EQ(NewCompressor(compressor_options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(CodedCompressorContractTest, RatioOneSendsEverything) {
  if (writes_own_code()) GTEST_SKIP() << "the ratio has no say";
  for (const int64_t n : {int64_t{1}, int64_t{33}, int64_t{5000}}) {
    Harness harness(Options(n, 1));
    const std::vector<float> gradient = MakeVector("sparse", n, 3);
    EXPECT_EQ(harness.Decode(harness.Compress(gradient)), gradient);
    EXPECT_EQ(harness.residual(), std::vector<float>(n, 0.0f));
  }
}

TEST_P(CompressorContractTest, ScalingByAPowerOfTwoKeepsThePositions) {
  for (const char* vector_name : {"gaussian", "laplace", "heavy"}) {
    Harness plain(Options(50000, 0.01));
    Harness scaled(Options(50000, 0.01));
    for (int iteration = 0; iteration < 12; ++iteration) {
      std::vector<float> gradient = SharedVector(vector_name, 50000, iteration);
      const auto positions = plain.Positions(plain.Compress(gradient));
      for (float& each : gradient) each *= 0x1p-40f;
      EXPECT_EQ(scaled.Positions(scaled.Compress(gradient)), positions);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllCompressors, CompressorContractTest,
                         testing::ValuesIn(CompressorRegistry().Names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

std::string CodedName(
    const testing::TestParamInfo<CodedCompressorContractTest::ParamType>&
        info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(
    AllCompressors, CodedCompressorContractTest,
    testing::Combine(testing::ValuesIn(CompressorRegistry().Names()),
                     testing::ValuesIn(IndexCodeNames())),
    CodedName);

TEST(NewCompressorTest, RefusesWhatAConfigCheckReports) {
  const auto backend = NewCpuBackend(CpuBackendOptions());
  ASSERT_TRUE(backend.ok());
  CompressorOptions options;
  options.backend = backend->get();
  options.config.set_name("topkk");
  EXPECT_EQ(NewCompressor(options).status().message(),
            "there is no compressor \"topkk\"; known are: " +
                absl::StrJoin(CompressorRegistry().Names(), ", "));
  options.config.set_name("topk");
  options.config.set_index_code("dense");
  EXPECT_EQ(NewCompressor(options).status().message(),
            "there is no index code \"dense\"; known are: auto, raw32, "
            "delta_varint, bitmap, rice, elias_fano");
  options.config.set_index_code("auto");
  options.config.set_value_code("fp33");
  EXPECT_EQ(NewCompressor(options).status().message(),
            "there is no value code \"fp33\"; known are: " +
                absl::StrJoin(ValueCodeNames(), ", "));
  options.config.set_value_code("qsgd");
  options.config.mutable_values()->set_bits(9);
  EXPECT_EQ(NewCompressor(options).status().message(),
            "values.bits is 9; must be in [2, 8]");
  options.config.mutable_values()->set_bits(3);
  EXPECT_EQ(NewCompressor(options).status().message(),
            "error_feedback is true; value_code \"qsgd\" may lose 6.54 times "
            "the square of what it is given, and above 1 the residual grows "
            "without bound; must be false, or take more values.bits or a "
            "smaller values.bucket_size");
  options.config.mutable_values()->clear_bits();
  options.config.set_name("adacomp");
  options.config.set_index_code("rice");
  EXPECT_EQ(NewCompressor(options).status().message(),
            "index_code is \"rice\"; adacomp writes a code of its own; must be "
            "\"auto\", the default; value_code is \"qsgd\"; adacomp writes a "
            "code of its own; must be \"fp32\", the default");
  options.config.set_name("topk");
  options.config.set_index_code("auto");
  options.config.set_value_code("fp32");
  options.config.set_clip_norm(-1);
  options.config.mutable_warmup()->set_stages(-1);
  EXPECT_EQ(NewCompressor(options).status().message(),
            "clip_norm is -1; must be above 0, or 0 for no limit; "
            "warmup.stages is -1; must be in [1, 1000], or 0 for no warm-up");
  options.config.clear_clip_norm();
  options.config.clear_warmup();
  options.config.mutable_dgc()->set_sample_ratio(2);
  options.config.mutable_sidco()->set_stages(65);
  EXPECT_EQ(NewCompressor(options).status().message(),
            "sidco.stages is 65; must be in [1, 64], or 0 for adaptive; "
            "dgc.sample_ratio is 2; must be in (0, 1]");
  options.config.clear_dgc();
  options.config.clear_sidco();
  options.num_workers = 0;
  EXPECT_EQ(NewCompressor(options).status().message(),
            "num_workers is 0; must be at least 1");
}

}  // namespace
}  // namespace ps
