#include "tests/compressors/cuda/threshold_test.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "common/random.h"
#include "compressors/selectors/random_subset.h"
#include "tensor/cpu/cpu_sparse_kernels.h"
#include "tests/compressors/vectors.h"

namespace ps {

std::vector<ThresholdCase> ThresholdCases() {
  using Kind = ThresholdRule::Kind;
  std::vector<ThresholdCase> cases;
  const auto add = [&cases](const std::string& name, Kind kind) {
    cases.push_back({name, ThresholdRule()});
    cases.back().rule.kind = kind;
    return &cases.back().rule;
  };
  add("bisection", Kind::kBisection)->step = 0.2;
  add("fine_bisection", Kind::kBisection)->step = 1e-5;
  ThresholdRule* rule = add("fixed_step", Kind::kBisection);
  rule->step = 0.01;
  rule->fixed_step = true;
  add("descent", Kind::kDescent)->step = 0.2;
  add("fine_descent", Kind::kDescent)->step = 0.03;
  rule = add("normal", Kind::kNormal);
  rule->evaluations = 3;
  rule->quantile = 2.6;
  rule->of_signed = true;
  rule = add("normal_of_magnitudes", Kind::kNormal);
  rule->evaluations = 10;
  rule->quantile = 2;
  // Nothing is counted or corrected.
  add("normal_as_it_is", Kind::kNormal)->quantile = 1;
  return cases;
}

void ThresholdOnDeviceTest::SetUp() {
  DeviceVectorsTest::SetUp();
  if (backend_ == nullptr) return;
  auto threshold = NewDeviceThreshold(backend_->sparse().device_work());
  ASSERT_TRUE(threshold.ok()) << threshold.status();
  threshold_ = *std::move(threshold);
}

void ThresholdOnDeviceTest::ExpectSame(const std::vector<float>& residual,
                                       const std::vector<float>& gradient,
                                       const ThresholdRule& rule,
                                       float keep_above) {
  const int64_t n = static_cast<int64_t>(gradient.size());
  const auto kernels = NewCpuSparseKernels(1);
  std::vector<float> u(n);
  Moments moments;
  ASSERT_TRUE(kernels
                  ->AddAndMeasure(residual.data(), gradient.data(), n, u.data(),
                                  &moments)
                  .ok());
  double sum = 0;
  ASSERT_TRUE(kernels->SumValues(u.data(), n, &sum).ok());
  ThresholdSteps steps;
  steps.Start(rule, n, moments, sum);
  while (steps.asks()) {
    steps.Next(std::count_if(u.begin(), u.end(), [&](float x) {
      return std::fabs(x) > steps.threshold();
    }));
  }
  DeviceThresholdRequest request;
  request.rule = rule;
  request.keep_above = keep_above;
  ASSERT_NO_FATAL_FAILURE(
      ExpectSelected(residual, gradient, request,
                     FloatAtMost(std::max(0.0, steps.threshold()))));
}

void ThresholdOnDeviceTest::ExpectSameSample(const std::vector<float>& residual,
                                             const std::vector<float>& gradient,
                                             const SampleRule& sample) {
  const std::vector<float> u = AddUp(residual, gradient);
  RandomStream random(sample.key);
  std::vector<float> magnitudes;
  for (const uint32_t i :
       DrawSubset(static_cast<int64_t>(u.size()), sample.size, &random)) {
    magnitudes.push_back(std::fabs(u[i]));
  }
  std::nth_element(magnitudes.begin(), magnitudes.begin() + (sample.k - 1),
                   magnitudes.end(), std::greater<float>());
  DeviceThresholdRequest request;
  request.sample = sample;
  ASSERT_NO_FATAL_FAILURE(
      ExpectSelected(residual, gradient, request, magnitudes[sample.k - 1]));
}

void ThresholdOnDeviceTest::ExpectSelected(const std::vector<float>& residual,
                                           const std::vector<float>& gradient,
                                           DeviceThresholdRequest request,
                                           float threshold) {
  const std::vector<float> u = AddUp(residual, gradient);
  Selection expected;
  for (size_t i = 0; i < u.size(); ++i) {
    if (!(std::fabs(u[i]) > threshold)) continue;
    expected.indices.push_back(static_cast<uint32_t>(i));
    expected.values.push_back(u[i]);
  }
  const Tensor device_residual = Put(residual);
  const Tensor device_gradient = Put(gradient);
  const Tensor device_u = Put(std::vector<float>(u.size()));
  request.residual = device_residual.data();
  request.gradient = device_gradient.data();
  request.u = const_cast<float*>(device_u.data());
  request.n = static_cast<int64_t>(u.size());
  request.capacity = kCapacity;
  DeviceThresholdResult result;
  const absl::Status status = threshold_->Run(request, &result);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(Get(device_u), u);
  ASSERT_EQ(result.threshold, threshold);
  ASSERT_EQ(result.num_selected, expected.size());
  EXPECT_EQ(
      result.moments.num_nonzero,
      static_cast<int64_t>(u.size()) - std::count(u.begin(), u.end(), 0.0f));
  if (expected.size() > kCapacity) {
    ++num_too_many_;
    ASSERT_EQ(result.selection.count, 0);
    return;
  }
  ++num_in_room_;
  ASSERT_EQ(result.selection.count, expected.size());
  const Selection selection = Get(result.selection);
  ASSERT_EQ(selection.indices, expected.indices);
  ASSERT_EQ(selection.values, expected.values);
}

namespace {

TEST_F(ThresholdOnDeviceTest, IsThatOfAPlainSearch) {
  for (const int64_t n : {2, 33, 257, 4097, 65535, 65537, 3 * 65536 + 77}) {
    for (const std::string& name : VectorNames()) {
      // Long vectors are slow on an emulated device.
      if (n > 65535 && name != "laplace" && name != "sparse") continue;
      const std::vector<float> gradient = MakeVector(name, n, 7);
      for (const ThresholdCase& each : ThresholdCases()) {
        SCOPED_TRACE(testing::Message()
                     << each.name << " of " << n << ", " << name);
        ThresholdRule rule = each.rule;
        rule.k = std::max<int64_t>(1, n / 100);
        ASSERT_NO_FATAL_FAILURE(
            ExpectSame(std::vector<float>(n), gradient, rule));
        if (n != 4097) continue;
        ASSERT_NO_FATAL_FAILURE(
            ExpectSame(MakeVector("laplace", n, 8), gradient, rule));
      }
    }
  }
  EXPECT_GT(num_in_room_, 100);
  EXPECT_GT(num_too_many_, 0);
}

TEST_F(ThresholdOnDeviceTest, NoGuessShowsInTheResult) {
  const int64_t n = 2 * 65536 + 99;
  const std::vector<float> residual = MakeVector("laplace", n, 2);
  std::vector<float> gradient = MakeVector("laplace", n, 3);
  // One chunk has more to keep than fits a list.
  for (int64_t i = 70000; i < 100000; ++i) gradient[i] *= 3;
  for (const ThresholdCase& each : ThresholdCases()) {
    for (const float guess : {0.0f, 0.1f, 6.0f, 12.0f, 1e9f}) {
      SCOPED_TRACE(testing::Message() << each.name << ", " << guess);
      ThresholdRule rule = each.rule;
      rule.k = 1311;
      ASSERT_NO_FATAL_FAILURE(ExpectSame(residual, gradient, rule, guess));
    }
  }
}

TEST_F(ThresholdOnDeviceTest, IsTheOneThatIsGiven) {
  const int64_t n = 65536 + 5;
  const std::vector<float> gradient = MakeVector("laplace", n, 3);
  for (const double threshold : {-1.0, 0.0, 0.5, 5.0, 1e3, 1e300}) {
    SCOPED_TRACE(threshold);
    ThresholdRule rule;
    rule.threshold = threshold;
    ASSERT_NO_FATAL_FAILURE(ExpectSame(std::vector<float>(n), gradient, rule));
    ASSERT_NO_FATAL_FAILURE(
        ExpectSame(std::vector<float>(n), gradient, rule, 0.7f));
  }
  ASSERT_NO_FATAL_FAILURE(ExpectSame({0}, {-3}, ThresholdRule()));
  // As many as there is space for, and one more.
  ThresholdRule rule;
  rule.threshold = 1;
  for (const int64_t above : {kCapacity, kCapacity + 1}) {
    std::vector<float> u(n, 1);
    for (int64_t i = 0; i < above; ++i) u[20 * i] = -2;
    num_in_room_ = 0;
    ASSERT_NO_FATAL_FAILURE(ExpectSame(std::vector<float>(n), u, rule));
    EXPECT_EQ(num_in_room_, above == kCapacity ? 1 : 0);
  }
}

TEST_F(ThresholdOnDeviceTest, IsThatOfTheSampleThatTheHostDraws) {
  for (const int64_t n : {2, 33, 4097, 65535, 65536, 2 * 65536 + 31}) {
    for (const std::string name : {"laplace", "sparse", "constant"}) {
      const std::vector<float> gradient = MakeVector(name, n, 7);
      for (const int64_t size : {int64_t{1}, n / 100, n / 2, n / 2 + 1, n}) {
        if (size < 1) continue;
        for (const int64_t k : {int64_t{1}, size / 100, size}) {
          if (k < 1) continue;
          SCOPED_TRACE(testing::Message()
                       << k << " of " << size << " of " << n << ", " << name);
          SampleRule sample;
          sample.key = RandomKey(n, size);
          sample.size = size;
          sample.k = k;
          ASSERT_NO_FATAL_FAILURE(
              ExpectSameSample(std::vector<float>(n), gradient, sample));
        }
      }
    }
  }
}

TEST_F(ThresholdOnDeviceTest, NothingIsSelectedOfWhatIsNotFinite) {
  const int64_t n = 70000;
  std::vector<float> gradient = MakeVector("laplace", n, 1);
  gradient[69999] = -std::numeric_limits<float>::infinity();
  gradient[3] = std::numeric_limits<float>::quiet_NaN();
  const Tensor residual = Put(std::vector<float>(n));
  const Tensor device_gradient = Put(gradient);
  Tensor u = Put(std::vector<float>(n));
  DeviceThresholdRequest request;
  request.residual = residual.data();
  request.gradient = device_gradient.data();
  request.u = u.data();
  request.n = n;
  request.capacity = kCapacity;
  DeviceThresholdResult result;
  ASSERT_TRUE(threshold_->Run(request, &result).ok());
  EXPECT_EQ(result.moments.num_non_finite, 2);
  EXPECT_EQ(result.selection.count, 0);
}

TEST_F(ThresholdOnDeviceTest, RefusesWhatIsNotThere) {
  const auto code_of = [this](const DeviceThresholdRequest& request) {
    DeviceThresholdResult result;
    return threshold_->Run(request, &result).code();
  };
  DeviceThresholdRequest request;
  request.capacity = 1;
  EXPECT_EQ(code_of(request), absl::StatusCode::kInvalidArgument);
  request.n = 10;
  request.capacity = 0;
  EXPECT_EQ(code_of(request), absl::StatusCode::kInvalidArgument);
  request.capacity = 1;
  request.sample.size = 11;
  request.sample.k = 1;
  EXPECT_EQ(code_of(request), absl::StatusCode::kInvalidArgument);
  request.sample.size = 5;
  for (const int64_t k : {-1, 6}) {
    request.sample.k = k;
    EXPECT_EQ(code_of(request), absl::StatusCode::kInvalidArgument);
  }
  request.sample.k = 1;
  request.rule.kind = ThresholdRule::Kind::kDescent;
  EXPECT_EQ(code_of(request), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ps
