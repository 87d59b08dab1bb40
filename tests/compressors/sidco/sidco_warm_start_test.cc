// A warm start saves the pass over the vector that measures its moments, and
// has no other effect: where it does not fit, it is not used.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compressors/fits/threshold_formulas.h"
#include "compressors/sidco/sidco_options.h"
#include "compressors/sidco/sidco_selector.h"
#include "gtest/gtest.h"
#include "tensor/cpu/cpu_sparse_kernels.h"
#include "tensor/sparse_kernels.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr int64_t kSize = 100000;
constexpr double kTarget = 0.01 * kSize;

HarnessOptions Options(const std::string& name, bool warm_start) {
  HarnessOptions options;
  options.config.set_name(name);
  options.config.set_ratio(0.01);
  options.config.mutable_sidco()->set_warm_start(warm_start);
  options.dense_size = kSize;
  return options;
}

class WarmStartTest : public testing::TestWithParam<const char*> {};

// Without error feedback every vector is drawn from one law, and a warm start
// is as near the target as a cold one, within six standard deviations of the
// count.
TEST_P(WarmStartTest, HitsTheTargetOnSteadyVectors) {
  Harness harness(Options(GetParam(), true));
  for (int iteration = 0; iteration < 20; ++iteration) {
    harness.set_residual(std::vector<float>(kSize, 0.0f));
    const CompressionStats stats =
        harness.Compress(MakeVector("laplace", kSize, iteration)).stats;
    EXPECT_EQ(stats.fallback, "");
    EXPECT_NEAR(stats.raw_count, kTarget, 6 * std::sqrt(kTarget))
        << "iteration " << iteration;
  }
}

// What exceeds the threshold is selected, whatever was kept aside for another.
TEST_P(WarmStartTest, SurvivesVectorsThatChangeAtOnce) {
  Harness warm(Options(GetParam(), true));
  const std::vector<float> scales = {1, 1, 100, 1e-3f, 1e-3f, 0.5f, 40, 40};
  for (size_t iteration = 0; iteration < scales.size(); ++iteration) {
    std::vector<float> gradient = MakeVector("laplace", kSize, iteration);
    for (float& each : gradient) each *= scales[iteration];
    warm.set_residual(std::vector<float>(kSize, 0.0f));
    const EncodedGradient encoded = warm.Compress(gradient);
    const CompressionStats& stats = encoded.stats;
    EXPECT_EQ(stats.fallback, "");
    EXPECT_NEAR(stats.raw_count, kTarget, 6 * std::sqrt(kTarget))
        << "iteration " << iteration;
    const auto above = std::count_if(
        gradient.begin(), gradient.end(),
        [&](float each) { return std::fabs(each) > stats.threshold; });
    EXPECT_EQ(stats.raw_count, above);
    EXPECT_EQ(static_cast<int64_t>(warm.Positions(encoded).size()), above);
  }
}

// Counts the passes that a warm start saves.
class CountingSieve final : public Sieve {
 public:
  CountingSieve(std::unique_ptr<Sieve> sieve, int* num_sums)
      : sieve_(std::move(sieve)), num_sums_(num_sums) {}

  void Reset(const float* u, int64_t n) override { sieve_->Reset(u, n); }
  absl::Status ResetToSum(const float* residual, const float* gradient,
                          int64_t n, const SieveGuess& guess, float* out,
                          Moments* moments) override {
    if (guess.sums == SieveGuess::Sums::kMagnitudes) ++*num_sums_;
    return sieve_->ResetToSum(residual, gradient, n, guess, out, moments);
  }
  absl::Status MeasureAbove(float location, float keep_above,
                            Exceedances* result) override {
    return sieve_->MeasureAbove(location, keep_above, result);
  }
  absl::Status CountAbove(float location, float keep_above,
                          int64_t* count) override {
    return sieve_->CountAbove(location, keep_above, count);
  }
  absl::Status SelectAbove(float threshold, Selection* selection) override {
    return sieve_->SelectAbove(threshold, selection);
  }

 private:
  const std::unique_ptr<Sieve> sieve_;
  int* const num_sums_;
};

class CountingKernels final : public SparseKernels {
 public:
  int num_sums() const { return num_sums_; }
  // The number of warm starts that did not fit.
  int num_second_passes() const { return num_second_passes_; }

  std::unique_ptr<Sieve> NewSieve() override {
    return std::make_unique<CountingSieve>(kernels_->NewSieve(), &num_sums_);
  }
  absl::Status SumMagnitudes(const float* u, int64_t n,
                             Moments* moments) override {
    ++num_sums_;
    ++num_second_passes_;
    return kernels_->SumMagnitudes(u, n, moments);
  }
  absl::Status AddAndMeasure(const float* residual, const float* gradient,
                             int64_t n, float* out, Moments* moments) override {
    return kernels_->AddAndMeasure(residual, gradient, n, out, moments);
  }
  absl::Status SumValues(const float* u, int64_t n, double* sum) override {
    return kernels_->SumValues(u, n, sum);
  }
  absl::Status SumLogs(const float* u, int64_t n, double* sum) override {
    return kernels_->SumLogs(u, n, sum);
  }
  absl::Status SumSquares(const float* u, int64_t n, double* sum) override {
    return kernels_->SumSquares(u, n, sum);
  }
  absl::Status Scale(const ScaledVector& x, int64_t n, float* out) override {
    return kernels_->Scale(x, n, out);
  }
  absl::Status AddScaled(const ScaledVector& x, const ScaledVector& y,
                         int64_t n, float* out) override {
    return kernels_->AddScaled(x, y, n, out);
  }
  absl::Status CountMagnitudes(const float* u, int64_t n,
                               const MagnitudeBins& bins,
                               std::vector<int64_t>* counts) override {
    return kernels_->CountMagnitudes(u, n, bins, counts);
  }
  absl::Status SelectEqual(const float* u, int64_t n, float magnitude,
                           int64_t limit, Selection* selection) override {
    return kernels_->SelectEqual(u, n, magnitude, limit, selection);
  }
  absl::Status Gather(const float* u, Selection* selection) override {
    return kernels_->Gather(u, selection);
  }
  absl::Status GatherTo(const float* u, const std::vector<uint32_t>& indices,
                        float* out) override {
    return kernels_->GatherTo(u, indices, out);
  }
  absl::Status Scatter(const Selection& selection, float* u) override {
    return kernels_->Scatter(selection, u);
  }
  absl::Status AddAt(const Selection& selection, float* u) override {
    return kernels_->AddAt(selection, u);
  }
  absl::Status Clear(float* u, int64_t n) override {
    return kernels_->Clear(u, n);
  }
  ThreadPool& host_threads() override { return kernels_->host_threads(); }

 private:
  const std::unique_ptr<SparseKernels> kernels_ = NewCpuSparseKernels(1);
  int num_sums_ = 0;
  int num_second_passes_ = 0;
};

// Runs iterations with error feedback, on vectors of n elements.
void SelectMany(const std::string& law, int64_t n, int64_t target,
                int iterations, Selector* selector) {
  std::vector<float> residual(n);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const std::vector<float> gradient = MakeVector(law, n, iteration);
    std::vector<float> u(n);
    SelectorInput input;
    input.residual = residual.data();
    input.gradient = gradient.data();
    input.u = u.data();
    input.n = n;
    input.target_count = target;
    Selected selected;
    CompressionStats stats;
    ASSERT_TRUE(selector->Select(input, &selected, &stats).ok());
    for (const uint32_t index : selected.elements.indices) u[index] = 0;
    residual = u;
  }
}

constexpr int kIterations = 60;

// Too few to fit a law to, or hardly more than the target: a warm start would
// fail each time, and cost a pass.
TEST(WarmStartPassesTest, IsNotTriedWhereItCannotFit) {
  struct Case {
    int64_t n;
    double ratio;
  };
  for (const Case& each : {Case{5000, 0.001}, Case{20000, 0.24}}) {
    CompressorConfig config =
        CompressorConfigFrom(absl::StrCat("ratio: ", each.ratio));
    CountingKernels kernels;
    const auto selector = NewSidcoSelector(ResolveSidcoOptions(config),
                                           TailLaw::kExponential, &kernels);
    SelectMany("laplace", each.n, static_cast<int64_t>(each.ratio * each.n),
               kIterations, selector.get());
    EXPECT_EQ(kernels.num_second_passes(), 0) << each.n;
  }
}

// With error feedback, on laws that SIDCo fits well and on one that it does
// not: the residual changes the law, but slowly.
TEST(WarmStartPassesTest, SumsAreTakenInAFewOfManyVectors) {
  for (const char* profile : {"ROBUST", "PAPER"}) {
    for (const TailLaw tail_law :
         {TailLaw::kExponential, TailLaw::kGammaPareto, TailLaw::kPareto}) {
      for (const char* law : {"laplace", "gaussian", "heavy"}) {
        CompressorConfig config = CompressorConfigFrom(
            absl::StrCat("ratio: 0.01 sidco { profile: ", profile, " }"));
        CountingKernels kernels;
        const auto selector =
            NewSidcoSelector(ResolveSidcoOptions(config), tail_law, &kernels);
        const bool paper = config.sidco().profile() == SidcoConfig::PAPER;
        const int iterations = paper ? 5 : kIterations;
        SelectMany(law, kSize, static_cast<int64_t>(kTarget), iterations,
                   selector.get());
        SCOPED_TRACE(testing::Message() << profile << " on " << law);
        if (paper) {
          EXPECT_EQ(kernels.num_sums(), iterations);
        } else {
          EXPECT_LE(kernels.num_sums(), iterations / 4);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, WarmStartTest,
                         testing::Values("sidco_e", "sidco_gp", "sidco_p"));

}  // namespace
}  // namespace ps
