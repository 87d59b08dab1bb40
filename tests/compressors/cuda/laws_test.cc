// The laws of every compressor on a device (compressors/cuda/device_search.h):
// what is sent and what is kept add up, and the selected set is the CPU's.
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "tests/compressors/cuda/device_vectors.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/value_codes/value_coding.h"
#include "tests/compressors/vectors.h"
#include "tests/tensor/backends_for_test.h"

namespace ps {
namespace {

// How far the device's thresholds may be from the CPU's.
constexpr double kRounding = 1e-6;

// Those whose thresholds depend on sums. All others send the CPU's bytes.
bool DependsOnSums(const std::string& compressor) {
  return absl::StartsWith(compressor, "sidco") || compressor == "redsync" ||
         compressor == "gaussiank" || compressor == "adacomp" ||
         compressor == "auto";
}

// A compressor on one backend, with its residual.
class Side {
 public:
  Side(const CompressorConfig& config, int64_t size, Backend* backend)
      : backend_(backend), residual_(backend->Allocate({size}).value()) {
    options_.config = config;
    options_.dense_size = size;
    options_.part_ends = {size / 3, size / 3, size};
    options_.tensors = SomeTensors(size);
    options_.seed = 5;
    options_.backend = backend;
    Renew();
  }

  // Replaces the compressor with a new one that has no state.
  void Renew() {
    auto made = NewCompressor(options_);
    EXPECT_TRUE(made.ok()) << made.status();
    compressor_ = *std::move(made);
  }

  // The gradient begins `shift` elements after an aligned address.
  EncodedGradient Compress(const std::vector<float>& gradient,
                           int64_t shift = 0) {
    const int64_t n = static_cast<int64_t>(gradient.size());
    Tensor tensor =
        backend_->Allocate({shift + n}).value().Slice(shift, shift + n);
    EXPECT_TRUE(backend_->CopyFromHost(gradient.data(), &tensor).ok());
    auto encoded = compressor_->Compress(tensor, &residual_);
    EXPECT_TRUE(encoded.ok()) << encoded.status();
    return *std::move(encoded);
  }

  std::vector<float> residual() const {
    std::vector<float> values(residual_.size());
    EXPECT_TRUE(backend_->CopyToHost(residual_, values.data()).ok());
    return values;
  }
  void set_residual(const std::vector<float>& values) {
    EXPECT_TRUE(backend_->CopyFromHost(values.data(), &residual_).ok());
  }
  Compressor& compressor() { return *compressor_; }

  // What has been sent of each element.
  std::vector<float> Sent(const EncodedGradient& encoded) const {
    std::vector<float> sent(residual_.size());
    int64_t begin = 0;
    for (size_t p = 0; p < encoded.parts.size(); ++p) {
      const PayloadPieces pieces = {encoded.parts[p].span()};
      const int64_t end = options_.part_ends[p];
      const auto info = ValidatePayload(pieces, end - begin);
      EXPECT_TRUE(info.ok()) << info.status();
      AddPayload(pieces, sent.data() + begin);
      begin = end;
    }
    return sent;
  }

 private:
  Backend* const backend_;  // Not owned.
  CompressorOptions options_;
  std::unique_ptr<Compressor> compressor_;
  Tensor residual_;
};

// Compresses one more gradient on both sides, from the device's residual and
// state, and expects that the laws hold.
void ExpectLaws(const std::string& compressor,
                const std::vector<float>& gradient, Side* cpu, Side* cuda,
                std::string* fallback, int64_t shift = 0) {
  const std::vector<float> before = cuda->residual();
  cpu->set_residual(before);
  ASSERT_TRUE(cpu->compressor().LoadState(cuda->compressor().SaveState()).ok());
  const EncodedGradient expected = cpu->Compress(gradient);
  const EncodedGradient actual = cuda->Compress(gradient, shift);
  ASSERT_EQ(actual.stats.non_finite, expected.stats.non_finite);
  ASSERT_EQ(actual.stats.target_count, expected.stats.target_count);
  ASSERT_EQ(actual.stats.stages, expected.stats.stages);
  ASSERT_EQ(actual.stats.fallback, expected.stats.fallback);
  *fallback = actual.stats.fallback;
  ASSERT_NEAR(actual.stats.threshold, expected.stats.threshold,
              kRounding * expected.stats.threshold);
  const std::vector<float> left = cuda->residual();
  if (actual.stats.non_finite) {
    ASSERT_EQ(left, before);
    ASSERT_EQ(Bytes(actual), Bytes(expected));
    return;
  }
  const std::vector<float> sent = cuda->Sent(actual);
  for (size_t i = 0; i < sent.size(); ++i) {
    const float u = before[i] + gradient[i];
    ASSERT_EQ(left[i], u - sent[i]) << "element " << i;
  }
  if (DependsOnSums(compressor) && Bytes(actual) != Bytes(expected)) {
    // Elements within rounding of the threshold may be on either side of it.
    const std::vector<float> sent_by_cpu = cpu->Sent(expected);
    const double threshold = actual.stats.threshold;
    for (size_t i = 0; i < sent.size(); ++i) {
      if ((sent[i] != 0) == (sent_by_cpu[i] != 0)) continue;
      const double u = std::fabs(before[i] + gradient[i]);
      ASSERT_NEAR(u, threshold, 2 * kRounding * threshold) << "element " << i;
    }
    return;
  }
  ASSERT_EQ(Bytes(actual), Bytes(expected));
  ASSERT_EQ(actual.stats.raw_count, expected.stats.raw_count);
  ASSERT_EQ(actual.stats.count, expected.stats.count);
  ASSERT_EQ(Bits(left), Bits(cpu->residual()));
}

// Compressors on the device and on the CPU.
class LawsOnDeviceTest : public DeviceVectorsTest {
 protected:
  Side OnCpu(const CompressorConfig& config, int64_t n) {
    return Side(config, n, cpu_.get());
  }
  Side OnDevice(const CompressorConfig& config, int64_t n) {
    return Side(config, n, backend_.get());
  }

  // For several gradients in a row.
  void ExpectLawsOfSeries(const CompressorConfig& config, int64_t n) {
    Side cpu = OnCpu(config, n);
    Side cuda = OnDevice(config, n);
    const char* const kNames[] = {"laplace", "laplace", "heavy",    "sparse",
                                  "laplace", "zero",    "denormal", "laplace"};
    uint64_t iteration = 0;
    for (const char* const name : kNames) {
      SCOPED_TRACE(testing::Message() << "iteration " << iteration);
      const std::vector<float> gradient = MakeVector(name, n, ++iteration);
      if (!config.error_feedback()) cuda.set_residual(std::vector<float>(n));
      std::string fallback;
      ASSERT_NO_FATAL_FAILURE(
          ExpectLaws(config.name(), gradient, &cpu, &cuda, &fallback,
                     /*shift=*/static_cast<int64_t>(iteration % 4)));
    }
  }

 private:
  const std::unique_ptr<Backend> cpu_ = NewBackendForTest("cpu").value();
};

template <class Param>
class LawsOfEachOnDeviceTest : public LawsOnDeviceTest,
                               public testing::WithParamInterface<Param> {};

using CompressorsOnDeviceTest = LawsOfEachOnDeviceTest<std::string>;

TEST_P(CompressorsOnDeviceTest, KeepTheLaws) {
  CompressorConfig config;
  config.set_name(GetParam());
  config.set_ratio(0.01);
  for (const int64_t n : {20011, 100, 1}) {
    SCOPED_TRACE(n);
    ASSERT_NO_FATAL_FAILURE(ExpectLawsOfSeries(config, n));
  }
}

TEST_P(CompressorsOnDeviceTest, SendNothingOfNothing) {
  CompressorConfig config;
  config.set_name(GetParam());
  config.set_ratio(0.01);
  Side side = OnDevice(config, 0);
  EXPECT_EQ(side.Compress({}).stats.count, 0);
}

INSTANTIATE_TEST_SUITE_P(AllCompressors, CompressorsOnDeviceTest,
                         testing::ValuesIn(CompressorRegistry().Names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

using ValueCodesOnDeviceTest = LawsOfEachOnDeviceTest<std::string>;

// The rounding of a difference must not be fused with what made the code.
TEST_P(ValueCodesOnDeviceTest, KeepTheLaws) {
  const PayloadCodes codes = FindValueCoding(GetParam()).codes;
  for (const char* const compressor : {"none", "sidco_e", "topk"}) {
    for (const char* const index_code : {"auto", "elias_fano"}) {
      SCOPED_TRACE(testing::Message() << compressor << ", " << index_code);
      CompressorConfig config;
      config.set_name(compressor);
      config.set_ratio(0.01);
      config.set_value_code(codes.value_code);
      config.set_index_code(index_code);
      *config.mutable_values() = codes.value_config;
      // Errors that may grow without bound are not fed back.
      if (!Acceptance(config).ok()) config.set_error_feedback(false);
      // Votes are for "none" alone.
      if (!Acceptance(config).ok()) continue;
      ASSERT_NO_FATAL_FAILURE(ExpectLawsOfSeries(config, 20011));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllValueCodes, ValueCodesOnDeviceTest,
                         testing::ValuesIn(ValueCodingNames()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

using WrappersOnDeviceTest = LawsOnDeviceTest;

TEST_F(WrappersOnDeviceTest, ClipToTheNormWithinRounding) {
  const CompressorConfig config =
      CompressorConfigFrom("name: 'none' clip_norm: 3");
  Side cpu = OnCpu(config, 20011);
  Side cuda = OnDevice(config, 20011);
  const std::vector<float> gradient = MakeVector("laplace", 20011, 1);
  const std::vector<float> expected = cpu.Sent(cpu.Compress(gradient));
  const std::vector<float> actual = cuda.Sent(cuda.Compress(gradient));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 2e-7 * std::fabs(expected[i]));
  }
}

// Selectors, and the fallbacks that each must reach at least once.
struct SelectorCase {
  const char* name;
  const char* config;
  std::set<std::string> fallbacks;
};

using SelectorsOnDeviceTest = LawsOfEachOnDeviceTest<SelectorCase>;

// Vector `iteration` of a series that leads to every fallback.
std::vector<float> CourseVector(int iteration, int64_t n) {
  const char* const kNames[] = {"laplace",  "laplace", "laplace", "gaussian",
                                "ties",     "heavy",   "sparse",  "nan",
                                "spike",    "laplace", "laplace", "zero",
                                "constant", "far",     "laplace", "laplace"};
  const std::string name = kNames[iteration % 16];
  const uint64_t seed = static_cast<uint64_t>(iteration);
  std::vector<float> u = MakeVector(
      name == "ties" || name == "nan" || name == "far" ? "laplace" : name, n,
      seed);
  if (name == "ties") {
    // A few different magnitudes, thousands of each.
    for (float& each : u) each = 0.5f * std::round(2 * each);
  } else if (name == "nan") {
    u[n / 2] = std::numeric_limits<float>::quiet_NaN();
  } else if (name == "far") {
    // Three elements that mislead any law.
    for (const int64_t i : {int64_t{0}, n / 2, n - 1}) u[i] = 1e6f;
  }
  return u;
}

// Runs through all kinds of vectors with the state kept between them; in the
// middle the state of one compressor is loaded into another. Runs with a
// residual, and without one, so that single vectors are tested too.
TEST_P(SelectorsOnDeviceTest, SelectWhatTheySelectOnTheCpu) {
  std::set<std::string> fallbacks;
  for (const double ratio : {0.1, 0.01, 0.001}) {
    for (const int64_t n : {900, 30011}) {
      const CompressorConfig config = CompressorConfigFrom(
          absl::StrCat(GetParam().config, " ratio: ", ratio));
      Side cpu = OnCpu(config, n);
      Side cuda = OnDevice(config, n);
      for (int iteration = 0; iteration < 16; ++iteration) {
        SCOPED_TRACE(testing::Message() << "ratio " << ratio << " of " << n
                                        << ", iteration " << iteration);
        if (iteration == 10) {
          const std::string state = cuda.compressor().SaveState();
          cuda.Renew();
          ASSERT_TRUE(cuda.compressor().LoadState(state).ok());
        }
        if (iteration % 4 == 0 || (iteration > 10 && iteration < 14)) {
          cuda.set_residual(std::vector<float>(n));
        }
        std::string fallback;
        ASSERT_NO_FATAL_FAILURE(ExpectLaws(
            config.name(), CourseVector(iteration, n), &cpu, &cuda, &fallback));
        fallbacks.insert(fallback);
      }
    }
  }
  EXPECT_THAT(fallbacks, testing::IsSupersetOf(GetParam().fallbacks));
}

INSTANTIATE_TEST_SUITE_P(
    AllSelectors, SelectorsOnDeviceTest,
    testing::Values(
        SelectorCase{"topk", "name: 'topk'", {""}},
        SelectorCase{"sidco_e",
                     "name: 'sidco_e' sidco { adapt_every: 1 }",
                     {"", "zero", "small", "constant", "sparse"}},
        SelectorCase{"sidco_p",
                     "name: 'sidco_p' sidco { adapt_every: 1 }",
                     {"", "zero", "small", "constant"}},
        SelectorCase{"sidco_gp",
                     "name: 'sidco_gp' sidco { adapt_every: 1 }",
                     {"", "zero", "small", "constant"}},
        SelectorCase{"sidco_e_paper",
                     "name: 'sidco_e' sidco { profile: PAPER adapt_every: 1 "
                     "start_stages: 2 }",
                     {"", "zero", "small"}},
        SelectorCase{"sidco_p_paper",
                     "name: 'sidco_p' sidco { profile: PAPER adapt_every: 1 "
                     "start_stages: 2 }",
                     {"", "zero", "small"}},
        SelectorCase{"sidco_gp_paper",
                     "name: 'sidco_gp' sidco { profile: PAPER adapt_every: 1 "
                     "start_stages: 2 }",
                     {"", "zero", "small"}},
        SelectorCase{"dgc", "name: 'dgc'", {"", "cap"}},
        SelectorCase{"redsync", "name: 'redsync'", {""}},
        SelectorCase{
            "dgc_half", "name: 'dgc' dgc { sample_ratio: 0.6 }", {"", "cap"}},
        SelectorCase{"randomk", "name: 'randomk'", {""}},
        SelectorCase{"redsync_trimmed",
                     "name: 'redsync' redsync { search: TRIMMED step: 0.05 }",
                     {""}},
        SelectorCase{"gaussiank_absolute",
                     "name: 'gaussiank' gaussiank { statistics: ABSOLUTE "
                     "evaluations: 8 }",
                     {""}},
        SelectorCase{"redsync_exact",
                     "name: 'redsync' redsync { exact_tail: true }",
                     {"", "tail"}},
        SelectorCase{"gaussiank", "name: 'gaussiank'", {""}},
        SelectorCase{
            "threshold", "name: 'threshold' threshold { threshold: 2 }", {""}}),
    [](const testing::TestParamInfo<SelectorCase>& info) {
      return std::string(info.param.name);
    });

// One vector for which an estimate makes no sense, or which has more selected
// elements than the device has space for.
struct SingleCase {
  const char* name;
  const char* config;
  const char* fallback;
  std::vector<float> (*vector)();
};

constexpr int64_t kSize = 70007;

std::vector<float> Uniform() {
  std::vector<float> u(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    u[i] = 1 + static_cast<float>(61 * i % kSize);
  }
  return u;
}

// 20 elements far from the others, fewer than a fit needs.
std::vector<float> FewFar() {
  std::vector<float> u(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    u[i] = 1 + 1e-3f * static_cast<float>(i % 7);
  }
  for (int i = 0; i < 20; ++i) u[3499 * i] = static_cast<float>(5 + i);
  return u;
}

std::vector<float> SpikeAmongOthers() {
  std::vector<float> u = MakeVector("laplace", kSize, 1);
  for (float& each : u) each *= 1e-7f;
  u[777] = 1e3f;
  return u;
}

std::vector<float> Heavy() { return MakeVector("heavy", kSize, 3); }

// A third of the elements are equal and larger than the others: more than the
// device has space for.
std::vector<float> ManyEqual() {
  std::vector<float> u(300001, 1e-3f);
  for (size_t i = 0; i < u.size(); i += 3) u[i] = i % 2 == 0 ? 2 : -2;
  return u;
}

std::vector<float> LongLaplace() { return MakeVector("laplace", 300001, 3); }

using SingleVectorsOnDeviceTest = LawsOfEachOnDeviceTest<SingleCase>;

TEST_P(SingleVectorsOnDeviceTest, SelectWhatIsSelectedOnTheCpu) {
  const std::vector<float> gradient = GetParam().vector();
  const int64_t n = static_cast<int64_t>(gradient.size());
  const CompressorConfig config = CompressorConfigFrom(GetParam().config);
  Side cpu = OnCpu(config, n);
  Side cuda = OnDevice(config, n);
  for (int iteration = 0; iteration < 2; ++iteration) {
    std::string fallback;
    ASSERT_NO_FATAL_FAILURE(
        ExpectLaws(config.name(), gradient, &cpu, &cuda, &fallback));
    if (iteration == 0) {
      EXPECT_EQ(fallback, GetParam().fallback);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, SingleVectorsOnDeviceTest,
    testing::Values(
        SingleCase{"empty",
                   "name: 'sidco_e' ratio: 0.001 sidco { stages: 1 "
                   "refine_steps: 0 }",
                   "empty", Uniform},
        SingleCase{"few", "name: 'sidco_e' ratio: 0.0001 sidco { stages: 3 }",
                   "few", FewFar},
        SingleCase{"spike", "name: 'sidco_e' ratio: 0.001", "spike",
                   SpikeAmongOthers},
        SingleCase{"cap",
                   "name: 'sidco_e' ratio: 0.001 sidco { stages: 1 "
                   "refine_steps: 0 overshoot_cap: 1 }",
                   "cap", Heavy},
        SingleCase{"few_without_room",
                   "name: 'sidco_e' ratio: 0.001 sidco { stages: 3 }", "few",
                   ManyEqual},
        SingleCase{"threshold_without_room",
                   "name: 'threshold' threshold { threshold: 0.1 }", "",
                   LongLaplace},
        // More than is likely: the host's room grows.
        SingleCase{"threshold_beyond_likely",
                   "name: 'threshold' ratio: 0.001 threshold { threshold: 4 }",
                   "", LongLaplace}),
    [](const testing::TestParamInfo<SingleCase>& info) {
      return std::string(info.param.name);
    });

}  // namespace
}  // namespace ps
