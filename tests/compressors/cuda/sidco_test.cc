// SIDCo on a device makes the CPU's estimates, within rounding of the
// thresholds, and selects exactly what is above them.
#include "tests/compressors/cuda/sidco_test.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "compressors/sidco/sidco_estimate.h"
#include "tensor/cpu/cpu_sparse_kernels.h"
#include "tests/compressors/vectors.h"

namespace ps {

std::vector<SidcoVariant> AllSidcoVariants() {
  std::vector<SidcoVariant> variants;
  for (const TailLaw law :
       {TailLaw::kExponential, TailLaw::kPareto, TailLaw::kGammaPareto,
        TailLaw::kClosedGammaPareto}) {
    for (int stages = 1; stages <= 4; ++stages) {
      // The gamma laws differ from Pareto's in the first stage alone.
      if (TailFits{law}.MagnitudesNeedLogs() && stages % 2 == 0) continue;
      // The profiles "paper" and "robust" and, with three stages, those in
      // between.
      for (const int robust : {0, 1, 2, 3}) {
        if (robust % 3 != 0 && stages != 3) continue;
        SidcoVariant variant;
        variant.law = law;
        variant.stages = stages;
        variant.count_correction = robust > 0;
        variant.exclude_zeros = robust > 1;
        variant.refine_steps = robust > 2 ? 8 : 0;
        variants.push_back(variant);
      }
    }
  }
  return variants;
}

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The estimate for one vector on the CPU, made as the selector makes it.
struct CpuSidco {
  explicit CpuSidco(TailLaw law)
      : needs_logs(TailFits{law}.MagnitudesNeedLogs()), estimator(law) {}

  ThresholdEstimate Run(const SidcoVariant& variant, double ratio,
                        const std::vector<float>& residual,
                        const std::vector<float>& gradient,
                        float warm_location) {
    const int64_t n = static_cast<int64_t>(residual.size());
    out.resize(n);
    sieve = kernels->NewSieve();
    SieveGuess guess;
    if (std::isfinite(warm_location)) guess.sums = SieveGuess::Sums::kNone;
    EXPECT_TRUE(sieve
                    ->ResetToSum(residual.data(), gradient.data(), n, guess,
                                 out.data(), &moments)
                    .ok());
    request = EstimateRequest();
    request.target = ratio * static_cast<double>(n);
    request.stages = variant.stages;
    request.count_correction = variant.count_correction;
    request.refine_steps = variant.refine_steps;
    request.population = variant.exclude_zeros ? moments.num_nonzero : n;
    request.moments = moments;
    estimator.Begin();
    warm = false;
    if (std::isfinite(warm_location)) {
      if (HasSeveralStages(request)) {
        const ThresholdEstimate estimate =
            estimator.EstimateFrom(warm_location, request, sieve.get()).value();
        warm = estimate.stages > 0;
        if (warm) return estimate;
      }
      EXPECT_TRUE(kernels->SumMagnitudes(out.data(), n, &request.moments).ok());
    }
    if (needs_logs) {
      EXPECT_TRUE(kernels->SumLogs(out.data(), n, &request.sum_logs).ok());
      if (request.population > moments.num_nonzero) {
        request.sum_logs +=
            static_cast<double>(request.population - moments.num_nonzero) *
            LogOfZero(request.moments);
      }
    }
    return estimator.Estimate(request, sieve.get()).value();
  }

  const bool needs_logs;
  std::unique_ptr<SparseKernels> kernels = NewCpuSparseKernels(1);
  std::unique_ptr<Sieve> sieve;
  SidcoEstimator estimator;
  std::vector<float> out;
  Moments moments;
  EstimateRequest request;
  bool warm = false;
};

}  // namespace

DeviceSidcoResult SidcoOnDeviceTest::Estimate(
    const SidcoVariant& variant, double ratio,
    const std::vector<float>& residual, const std::vector<float>& gradient,
    const Before& before) {
  DeviceSidcoRequest request;
  request.fits = TailFits{variant.law};
  request.estimate.target = ratio * static_cast<double>(gradient.size());
  request.estimate.stages = variant.stages;
  request.estimate.count_correction = variant.count_correction;
  request.estimate.refine_steps = variant.refine_steps;
  request.exclude_zeros = variant.exclude_zeros;
  request.warm_location = before.warm_location;
  request.keep_above = before.keep_above;
  request.num_known_steps = static_cast<int>(before.steps.size());
  std::copy(before.steps.begin(), before.steps.end(), request.known_steps);
  request.refine_reach = before.refine_reach;
  request.capacity = kCapacity;
  DeviceSidcoResult result;
  const absl::Status status = Run(residual, gradient, request, &result);
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

void SidcoOnDeviceTest::ExpectTheCpus(const std::string& name, int64_t n,
                                      double ratio,
                                      const SidcoVariant& variant) {
  CpuSidco cpu(variant.law);
  Before before;
  for (uint64_t iteration = 0; iteration < 5; ++iteration) {
    const std::vector<float> residual =
        name.size() == 1 ? std::vector<float>(n)
                         : MakeVector("laplace", n, 100 + iteration);
    std::vector<float> gradient = name.size() == 1
                                      ? GoldenVector(name[0])
                                      : MakeVector(name, n, iteration);
    // The scale drifts from one vector to the next, and jumps once.
    const float scale =
        iteration == 3 ? 5.0f : 1.0f + 0.01f * static_cast<float>(iteration);
    for (float& each : gradient) each *= scale;
    const ThresholdEstimate expected =
        cpu.Run(variant, ratio, residual, gradient, before.warm_location);
    const DeviceSidcoResult actual =
        Estimate(variant, ratio, residual, gradient, before);
    if (expected.stages == 0) {
      ASSERT_EQ(actual.outcome, SidcoOutcome::kConstant);
      return;
    }
    ASSERT_EQ(actual.outcome, SidcoOutcome::kEstimated);
    ASSERT_NEAR(actual.estimate.threshold, expected.threshold,
                1e-6 * expected.threshold);
    ASSERT_EQ(actual.warm, cpu.warm);
    ASSERT_EQ(actual.estimate.stages, expected.stages);
    ASSERT_EQ(actual.estimate.stopped, expected.stopped);
    ASSERT_EQ(actual.estimate.estimated_count, expected.estimated_count);
    if (!actual.warm) {
      const Moments& moments = cpu.request.moments;
      ASSERT_NEAR(actual.moments.sum, moments.sum, 1e-12 * moments.sum);
      ASSERT_NEAR(actual.moments.sum_squares, moments.sum_squares,
                  1e-12 * moments.sum_squares);
    }
    ASSERT_EQ(actual.moments.max, cpu.moments.max);
    ASSERT_EQ(actual.moments.min_nonzero, cpu.moments.min_nonzero);
    ASSERT_EQ(actual.moments.num_nonzero, cpu.moments.num_nonzero);
    const Selection selection = Above(cpu.out, actual.estimate.threshold);
    ASSERT_EQ(selection.indices, Above(cpu.out, expected.threshold).indices);
    ASSERT_EQ(actual.num_selected, selection.size());
    ASSERT_NO_FATAL_FAILURE(
        ExpectSelected(cpu.out, selection, actual.selection, kCapacity));
    ++(actual.warm ? num_warm_ : num_cold_);
    if (!actual.warm && std::isfinite(before.warm_location)) ++num_failed_;
    ASSERT_EQ(actual.trace.steps.has_value(), !actual.warm);
    if (!actual.warm) before.steps = *actual.trace.steps;
    before.refine_reach = actual.trace.refine_reach;
    before.warm_location =
        HasSeveralStages(cpu.request)
            ? cpu.estimator.NextLocation(cpu.request, expected.threshold,
                                         selection.size())
            : kInfinity;
    before.keep_above = std::isfinite(before.warm_location)
                            ? before.warm_location
                            : 0.9f * expected.threshold;
  }
}

namespace {

class GoldenVectorsOnDeviceTest : public SidcoOnDeviceTest,
                                  public testing::WithParamInterface<char> {};

TEST_P(GoldenVectorsOnDeviceTest, GiveTheCpusSets) {
  const int64_t n = static_cast<int64_t>(GoldenVector(GetParam()).size());
  for (const SidcoVariant& variant : AllSidcoVariants()) {
    for (const double ratio : {0.1, 0.01, 0.001}) {
      SCOPED_TRACE(testing::Message()
                   << ratio << ", law " << static_cast<int>(variant.law) << ", "
                   << variant.stages << " stages, refined "
                   << variant.refine_steps << ", count correction "
                   << variant.count_correction);
      ASSERT_NO_FATAL_FAILURE(
          ExpectTheCpus(std::string(1, GetParam()), n, ratio, variant));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, GoldenVectorsOnDeviceTest,
                         testing::Values('A', 'B', 'C', 'D'),
                         [](const testing::TestParamInfo<char>& info) {
                           return std::string(1, info.param);
                         });

TEST_F(SidcoOnDeviceTest, AllKindsOfStartsAreCompared) {
  SidcoVariant variant;
  variant.stages = 3;
  variant.refine_steps = 8;
  variant.count_correction = true;
  ExpectTheCpus("A", 100000, 0.01, variant);
  // Twice as many as there is space for.
  ExpectTheCpus("A", 100000, 0.02, variant);
  EXPECT_GT(num_warm_, 0);
  EXPECT_GT(num_cold_, 1);
  EXPECT_GT(num_failed_, 0);
  EXPECT_GT(num_in_room_, 0);
  EXPECT_GT(num_too_many_, 0);
}

TEST_F(SidcoOnDeviceTest, VectorsMayBeginAnywhere) {
  SidcoVariant variant;
  variant.law = TailLaw::kGammaPareto;
  variant.stages = 3;
  variant.refine_steps = 8;
  for (const int64_t shift : {1, 2, 3}) {
    SetShift(shift);
    ASSERT_NO_FATAL_FAILURE(ExpectTheCpus("laplace", 20011, 0.01, variant));
  }
}

TEST_F(SidcoOnDeviceTest, SaysWhyThereIsNoEstimate) {
  const auto outcome = [&](const std::vector<float>& gradient) {
    SidcoVariant variant;
    variant.stages = 2;
    variant.exclude_zeros = true;
    const DeviceSidcoResult result = Estimate(
        variant, 0.1, std::vector<float>(gradient.size()), gradient, Before());
    EXPECT_EQ(result.selection, nullptr);
    return result.outcome;
  };
  std::vector<float> vector(2000);
  EXPECT_EQ(outcome(vector), SidcoOutcome::kZero);
  for (int i = 0; i < 100; ++i) {
    vector[20 * i] = 1.0f + 0.01f * static_cast<float>(i);
  }
  EXPECT_EQ(outcome(vector), SidcoOutcome::kSparse);
  EXPECT_EQ(outcome(std::vector<float>(2000, -0.5f)), SidcoOutcome::kConstant);
  EXPECT_EQ(outcome({1}), SidcoOutcome::kConstant);
  std::vector<float> infinite = MakeVector("laplace", 20000, 1);
  infinite[16000] = -kInfinity;
  EXPECT_EQ(outcome(infinite), SidcoOutcome::kNonFinite);
}

TEST_F(SidcoOnDeviceTest, RefusesWhatItHasNoRoomFor) {
  const auto code_of = [this](const DeviceSidcoRequest& request) {
    DeviceSidcoResult result;
    return Searching<DeviceSidcoRequest>().Run(request, &result).code();
  };
  DeviceSidcoRequest request;
  request.capacity = 1;
  EXPECT_EQ(code_of(request), absl::StatusCode::kInvalidArgument);
  request.sum.n = 100;
  request.estimate.stages = kMaxDeviceStages + 1;
  EXPECT_EQ(code_of(request), absl::StatusCode::kInvalidArgument);
  request.estimate.stages = 1;
  request.capacity = 0;
  EXPECT_EQ(code_of(request), absl::StatusCode::kInvalidArgument);
  request.capacity = 1;
  request.sum.n = int64_t{1} << 31;
  EXPECT_EQ(code_of(request), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace ps
