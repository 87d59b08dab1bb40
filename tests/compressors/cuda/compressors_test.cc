// Every compressor sends bitwise the same from a device as from the CPU.
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"
#include "tests/tensor/backends_for_test.h"
#include "tests/tensor/require_device.h"

namespace ps {
namespace {

constexpr int64_t kSize = 70007;

// A compressor on one backend, with its residual.
class Side {
 public:
  Side(const CompressorConfig& config, int64_t size, Backend* backend)
      : size_(size), backend_(backend) {
    options_.config = config;
    options_.dense_size = size;
    options_.part_ends = {size / 3, size};
    options_.tensors = SomeTensors(size);
    options_.seed = 5;
    options_.backend = backend;
    Renew();
    residual_ = backend_->Allocate({size}).value();
  }

  // Replaces the compressor with a new one that has no state.
  void Renew() {
    auto made = NewCompressor(options_);
    EXPECT_TRUE(made.ok()) << made.status();
    compressor_ = *std::move(made);
  }

  EncodedGradient Compress(const std::vector<float>& gradient) {
    Tensor tensor = backend_->Allocate({size_}).value();
    EXPECT_TRUE(backend_->CopyFromHost(gradient.data(), &tensor).ok());
    auto encoded = compressor_->Compress(tensor, &residual_);
    EXPECT_TRUE(encoded.ok()) << encoded.status();
    return *std::move(encoded);
  }

  std::vector<float> residual() const {
    std::vector<float> values(size_);
    EXPECT_TRUE(backend_->CopyToHost(residual_, values.data()).ok());
    return values;
  }
  void ClearResidual() {
    EXPECT_TRUE(backend_->sparse().Clear(residual_.data(), size_).ok());
  }
  Compressor& compressor() { return *compressor_; }

 private:
  const int64_t size_;
  Backend* const backend_;  // Not owned.
  CompressorOptions options_;
  std::unique_ptr<Compressor> compressor_;
  Tensor residual_;
};

// Expects the same payloads and residuals of both sides for one more gradient.
void ExpectSame(const std::vector<float>& gradient, Side* cpu, Side* cuda,
                std::string* fallback) {
  const EncodedGradient expected = cpu->Compress(gradient);
  const EncodedGradient actual = cuda->Compress(gradient);
  ASSERT_EQ(Bytes(actual), Bytes(expected));
  ASSERT_EQ(actual.stats.non_finite, expected.stats.non_finite);
  ASSERT_EQ(actual.stats.threshold, expected.stats.threshold);
  ASSERT_EQ(actual.stats.raw_count, expected.stats.raw_count);
  ASSERT_EQ(actual.stats.count, expected.stats.count);
  ASSERT_EQ(actual.stats.target_count, expected.stats.target_count);
  ASSERT_EQ(actual.stats.stages, expected.stats.stages);
  ASSERT_EQ(actual.stats.fallback, expected.stats.fallback);
  ASSERT_EQ(Bits(cuda->residual()), Bits(cpu->residual()));
  ASSERT_EQ(cuda->compressor().SaveState(), cpu->compressor().SaveState());
  *fallback = expected.stats.fallback;
}

// value_code: empty for the default.
void Compare(const std::string& compressor, const std::string& value_code,
             Backend* cuda_backend) {
  const auto cpu_backend = NewBackendForTest("cpu");
  CompressorConfig config;
  config.set_name(compressor);
  if (!value_code.empty()) config.set_value_code(value_code);
  config.set_ratio(0.01);
  config.set_clip_norm(100);
  Side cpu(config, kSize, cpu_backend->get());
  Side cuda(config, kSize, cuda_backend);
  const char* const kNames[] = {"laplace", "laplace", "heavy",   "sparse",
                                "laplace", "zero",    "laplace", "laplace"};
  uint64_t iteration = 0;
  for (const char* const name : kNames) {
    SCOPED_TRACE(testing::Message() << "iteration " << iteration);
    const std::vector<float> gradient = MakeVector(name, kSize, ++iteration);
    std::string fallback;
    ASSERT_NO_FATAL_FAILURE(ExpectSame(gradient, &cpu, &cuda, &fallback));
  }
}

class CompressorsOnDevicesTest : public testing::TestWithParam<std::string> {};

TEST_P(CompressorsOnDevicesTest, SendWhatTheySendFromTheCpu) {
  PS_REQUIRE_DEVICE();
  const auto backend = NewBackendForTest("cuda");
  ASSERT_TRUE(backend.ok()) << backend.status();
  Compare(GetParam(), "", backend->get());
}

TEST(ValueCodesOnDevicesTest, SendWhatTheySendFromTheCpu) {
  PS_REQUIRE_DEVICE();
  const auto backend = NewBackendForTest("cuda");
  ASSERT_TRUE(backend.ok()) << backend.status();
  for (const char* const compressor : {"none", "sidco_e", "topk"}) {
    for (const char* const value_code : {"bf16", "onebit", "natural", "alq"}) {
      SCOPED_TRACE(testing::Message() << compressor << ", " << value_code);
      Compare(compressor, value_code, backend->get());
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllCompressors, CompressorsOnDevicesTest,
                         testing::ValuesIn(CompressorRegistry().Names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

// Selectors, and the fallbacks that each must reach at least once.
struct SelectorCase {
  const char* name;
  const char* config;
  std::set<std::string> fallbacks;
};

class SelectorsOnDevicesTest : public testing::TestWithParam<SelectorCase> {};

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
TEST_P(SelectorsOnDevicesTest, SelectWhatTheySelectOnTheCpu) {
  PS_REQUIRE_DEVICE();
  const auto cuda_backend = NewBackendForTest("cuda");
  ASSERT_TRUE(cuda_backend.ok()) << cuda_backend.status();
  const auto cpu_backend = NewBackendForTest("cpu");
  std::set<std::string> fallbacks;
  for (const double ratio : {0.1, 0.01, 0.001}) {
    for (const int64_t n : {900, 65537}) {
      const CompressorConfig config = CompressorConfigFrom(
          absl::StrCat(GetParam().config, " ratio: ", ratio));
      Side cpu(config, n, cpu_backend->get());
      Side cuda(config, n, cuda_backend->get());
      for (int iteration = 0; iteration < 16; ++iteration) {
        SCOPED_TRACE(testing::Message() << "ratio " << ratio << " of " << n
                                        << ", iteration " << iteration);
        if (iteration == 10) {
          const std::string state = cpu.compressor().SaveState();
          for (Side* side : {&cpu, &cuda}) {
            side->Renew();
            ASSERT_TRUE(side->compressor().LoadState(state).ok());
          }
        }
        if (iteration % 4 == 0 || (iteration > 10 && iteration < 14)) {
          cpu.ClearResidual();
          cuda.ClearResidual();
        }
        std::string fallback;
        ASSERT_NO_FATAL_FAILURE(
            ExpectSame(CourseVector(iteration, n), &cpu, &cuda, &fallback));
        fallbacks.insert(fallback);
      }
    }
  }
  EXPECT_THAT(fallbacks, testing::IsSupersetOf(GetParam().fallbacks));
}

INSTANTIATE_TEST_SUITE_P(
    AllSelectors, SelectorsOnDevicesTest,
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

class SingleVectorsOnDevicesTest : public testing::TestWithParam<SingleCase> {};

TEST_P(SingleVectorsOnDevicesTest, SelectWhatIsSelectedOnTheCpu) {
  PS_REQUIRE_DEVICE();
  const auto cuda_backend = NewBackendForTest("cuda");
  ASSERT_TRUE(cuda_backend.ok()) << cuda_backend.status();
  const auto cpu_backend = NewBackendForTest("cpu");
  const std::vector<float> gradient = GetParam().vector();
  const int64_t n = static_cast<int64_t>(gradient.size());
  const CompressorConfig config = CompressorConfigFrom(GetParam().config);
  Side cpu(config, n, cpu_backend->get());
  Side cuda(config, n, cuda_backend->get());
  for (int iteration = 0; iteration < 2; ++iteration) {
    std::string fallback;
    ASSERT_NO_FATAL_FAILURE(ExpectSame(gradient, &cpu, &cuda, &fallback));
    if (iteration == 0) {
      EXPECT_EQ(fallback, GetParam().fallback);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, SingleVectorsOnDevicesTest,
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
                   LongLaplace}),
    [](const testing::TestParamInfo<SingleCase>& info) {
      return std::string(info.param.name);
    });

}  // namespace
}  // namespace ps
