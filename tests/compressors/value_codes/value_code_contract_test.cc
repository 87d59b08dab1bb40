// The law of every compressor with every value code and every index code:
//
//     residual after = float(float(residual before + gradient) - decoded)
//
// The two sums are each rounded to float once, and nothing else is rounded. For
// "fp32" the second one is exact, and for "fp16" and "bf16" it is exact within
// their range, where the error has few enough bits.
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/value_codes/value_coding.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

// Three chunks of the kernels, the last one short and odd.
constexpr int64_t kLarge = 140003;

// With error feedback unless that is not allowed.
CompressorConfig Config(const std::string& compressor,
                        const std::string& value_coding) {
  const ValueCoding& coding = FindValueCoding(value_coding);
  CompressorConfig config;
  config.set_name(compressor);
  config.set_value_code(coding.codes.value_code);
  *config.mutable_values() = coding.codes.value_config;
  config.set_ratio(0.05);
  // Bucket ends fall inside most vectors.
  config.mutable_values()->set_bucket_size(100);
  config.set_error_feedback(true);
  if (!Acceptance(config).ok()) config.set_error_feedback(false);
  return config;
}

HarnessOptions Options(const std::string& compressor,
                       const std::string& value_coding, int64_t n) {
  HarnessOptions options;
  options.config = Config(compressor, value_coding);
  options.dense_size = n;
  options.part_ends = {n / 3, n / 3, n - n / 5, n};
  options.tensors = SomeTensors(n);
  return options;
}

// Whether NewCompressor accepts the config. Checks that it rejects only other
// codes for a compressor that writes its own, and votes on part of a vector.
bool IsAccepted(const CompressorConfig& config) {
  const absl::Status status = Acceptance(config);
  const bool own_code =
      FindCompressor(config.name()).writes_own_code &&
      (config.index_code() != "auto" || config.value_code() != "fp32");
  const bool votes_on_part =
      config.values().sign_scale() == ValueCodeConfig::ONE &&
      config.name() != "none";
  EXPECT_EQ(status.ok(), !own_code && !votes_on_part) << status;
  if (own_code) {
    EXPECT_THAT(status.message(),
                testing::HasSubstr("writes a code of its own"));
  }
  return status.ok();
}

// Made once, since MakeVector takes longer than most compressors.
const std::vector<float>& Vector(const std::string& name, int64_t n,
                                 uint64_t seed) {
  static auto* const made =
      new std::map<std::tuple<std::string, int64_t, uint64_t>,
                   std::vector<float>>;
  std::vector<float>& vector = (*made)[{name, n, seed}];
  if (vector.empty()) vector = MakeVector(name, n, seed);
  return vector;
}

// Compresses, checks the law, and returns what was decoded.
std::vector<float> ExpectLaw(const std::vector<float>& gradient,
                             Harness* harness) {
  const std::vector<float> before = harness->residual();
  const EncodedGradient encoded = harness->Compress(gradient);
  EXPECT_FALSE(encoded.stats.non_finite);
  EXPECT_EQ(encoded.stats.count,
            static_cast<int64_t>(harness->Positions(encoded).size()));
  const std::vector<float> decoded = harness->Decode(encoded);
  const std::vector<float> after = harness->residual();
  for (size_t i = 0; i < gradient.size(); ++i) {
    const float u = before[i] + gradient[i];
    EXPECT_TRUE(std::isfinite(after[i])) << "at " << i;
    EXPECT_EQ(u - decoded[i], after[i]) << "at " << i;
    if (testing::Test::HasFailure()) break;  // One failure is enough.
  }
  return decoded;
}

// Compressor, value coding, index code.
using LawParam = std::tuple<std::string, std::string, std::string>;

class ValueCodeLawTest : public testing::TestWithParam<LawParam> {
 protected:
  void SetUp() override {
    if (!IsAccepted(OptionsFor(1).config)) GTEST_SKIP() << "refused";
  }

  HarnessOptions OptionsFor(int64_t n) const {
    HarnessOptions options =
        Options(std::get<0>(GetParam()), std::get<1>(GetParam()), n);
    options.config.set_index_code(std::get<2>(GetParam()));
    return options;
  }
};

TEST_P(ValueCodeLawTest, ResidualIsWhatDecodingLeaves) {
  std::vector<int64_t> sizes = {0, 1, 31, 32, 33, 1023, 1024, 1025};
  // Index and value codes are independent, so the long vector runs once.
  if (std::get<2>(GetParam()) == "auto") sizes.push_back(kLarge);
  for (const int64_t n : sizes) {
    for (const std::string& vector_name : VectorNames()) {
      SCOPED_TRACE(testing::Message() << vector_name << " of " << n);
      Harness harness(OptionsFor(n));
      for (uint64_t iteration = 0; iteration < 2; ++iteration) {
        ExpectLaw(Vector(vector_name, n, iteration), &harness);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

std::string LawName(
    const testing::TestParamInfo<ValueCodeLawTest::ParamType>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param) + "_" +
         std::get<2>(info.param);
}

// All combinations of the three, but options of value codes with "auto" only.
std::vector<LawParam> LawParams() {
  std::vector<LawParam> params;
  for (const std::string& compressor : CompressorRegistry().Names()) {
    for (const ValueCoding& coding : ValueCodings()) {
      for (const std::string& index_code : IndexCodeNames()) {
        if (!coding.is_default && index_code != "auto") continue;
        params.push_back({compressor, coding.name, index_code});
      }
    }
  }
  return params;
}

INSTANTIATE_TEST_SUITE_P(All, ValueCodeLawTest, testing::ValuesIn(LawParams()),
                         LawName);

TEST(ValueCodingsTest, EveryChoiceIsAcceptedWithSomeOther) {
  std::map<std::string, int> accepted;
  int refused = 0;
  for (const std::string& compressor : CompressorRegistry().Names()) {
    for (const std::string& coding : ValueCodingNames()) {
      const bool is_accepted = IsAccepted(Config(compressor, coding));
      accepted[compressor] += is_accepted;
      accepted[coding] += is_accepted;
      refused += !is_accepted;
    }
  }
  for (const auto& entry : accepted) EXPECT_GT(entry.second, 0) << entry.first;
  EXPECT_GT(refused, 0) << "votes need every element";
}

class ValueCodeContractTest
    : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    if (!IsAccepted(OptionsFor(1).config)) GTEST_SKIP() << "refused";
  }

  HarnessOptions OptionsFor(int64_t n) const {
    return Options(std::get<0>(GetParam()), std::get<1>(GetParam()), n);
  }
};

TEST_P(ValueCodeContractTest, LargestFloatsStayFinite) {
  constexpr float kMax = std::numeric_limits<float>::max();
  std::vector<float> huge(333, kMax);
  for (size_t i = 0; i < huge.size(); i += 2) huge[i] = -kMax;
  huge[7] = 0.9f * kMax;
  Harness harness(OptionsFor(333));
  for (const float decoded : ExpectLaw(huge, &harness)) {
    EXPECT_TRUE(std::isfinite(decoded));
  }
}

TEST_P(ValueCodeContractTest, ThreadsDoNotShow) {
  HarnessOptions options = OptionsFor(kLarge);
  Harness one(options);
  options.num_threads = 3;
  Harness three(options);
  for (uint64_t iteration = 0; iteration < 2; ++iteration) {
    const std::vector<float>& gradient = Vector("laplace", kLarge, iteration);
    EXPECT_EQ(Bytes(one.Compress(gradient)), Bytes(three.Compress(gradient)));
    EXPECT_EQ(Bits(one.residual()), Bits(three.residual()));
  }
}

TEST_P(ValueCodeContractTest, NonFiniteGradientChangesNothing) {
  constexpr int64_t kSize = 1025;
  Harness harness(OptionsFor(kSize));
  harness.Compress(Vector("gaussian", kSize, 1));
  const std::vector<float> before = harness.residual();
  const std::string state = harness.compressor().SaveState();
  std::vector<float> gradient = Vector("gaussian", kSize, 2);
  gradient[700] = std::numeric_limits<float>::quiet_NaN();
  const EncodedGradient encoded = harness.Compress(gradient);
  EXPECT_TRUE(encoded.stats.non_finite);
  EXPECT_EQ(harness.Decode(encoded), std::vector<float>(kSize, 0.0f));
  EXPECT_EQ(Bits(harness.residual()), Bits(before));
  EXPECT_EQ(harness.compressor().SaveState(), state);
}

TEST_P(ValueCodeContractTest, RestoredStateContinuesInTheSameBits) {
  constexpr int64_t kSize = 20000;
  Harness original(OptionsFor(kSize));
  for (uint64_t iteration = 0; iteration < 3; ++iteration) {
    original.Compress(Vector("gaussian", kSize, iteration));
  }
  Harness restored(OptionsFor(kSize));
  restored.set_residual(original.residual());
  ASSERT_TRUE(
      restored.compressor().LoadState(original.compressor().SaveState()).ok());
  for (uint64_t iteration = 3; iteration < 6; ++iteration) {
    const std::vector<float>& gradient = Vector("gaussian", kSize, iteration);
    EXPECT_EQ(Bytes(original.Compress(gradient)),
              Bytes(restored.Compress(gradient)));
    EXPECT_EQ(Bits(original.residual()), Bits(restored.residual()));
  }
}

std::string ContractName(
    const testing::TestParamInfo<ValueCodeContractTest::ParamType>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(
    All, ValueCodeContractTest,
    testing::Combine(testing::ValuesIn(CompressorRegistry().Names()),
                     testing::ValuesIn(ValueCodingNames())),
    ContractName);

class RandomValueCodeTest : public testing::TestWithParam<const char*> {};

TEST_P(RandomValueCodeTest, DrawsDependOnSeedWorkerBucketIterationAndPart) {
  constexpr int64_t kSize = 600;
  HarnessOptions options;
  options.config = Config("none", GetParam());
  options.dense_size = kSize;
  options.part_ends = {300, 600};
  std::vector<float> gradient = MakeVector("gaussian", 300, 1);
  gradient.insert(gradient.end(), gradient.begin(), gradient.end());
  const auto parts = [&gradient](const HarnessOptions& changed, int iteration) {
    Harness harness(changed);
    EncodedGradient encoded;
    for (int i = 0; i <= iteration; ++i) {
      harness.set_residual(std::vector<float>(kSize, 0.0f));
      encoded = harness.Compress(gradient);
    }
    const auto bytes = [](const PayloadBuffer& part) {
      return std::string(part.data(), part.data() + part.size_bytes());
    };
    return std::vector<std::string>{bytes(encoded.parts[0]),
                                    bytes(encoded.parts[1])};
  };
  const std::vector<std::string> base = parts(options, 0);
  EXPECT_EQ(parts(options, 0), base);
  EXPECT_NE(base[0], base[1]);
  EXPECT_NE(parts(options, 1)[0], base[0]);
  HarnessOptions changed = options;
  changed.seed = 1;
  EXPECT_NE(parts(changed, 0)[0], base[0]);
  changed = options;
  changed.worker_rank = 1;
  EXPECT_NE(parts(changed, 0)[0], base[0]);
  changed = options;
  changed.bucket = 1;
  EXPECT_NE(parts(changed, 0)[0], base[0]);
}

INSTANTIATE_TEST_SUITE_P(All, RandomValueCodeTest,
                         testing::Values("ternary", "natural", "qsgd",
                                         "qsgdinf", "nuqsgd",
                                         "natural_dithering", "alq",
                                         "qsgd_gamma"));

}  // namespace
}  // namespace ps
