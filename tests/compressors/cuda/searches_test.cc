#include "tests/compressors/cuda/searches_test.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "common/random.h"
#include "compressors/selectors/random_subset.h"
#include "tests/compressors/vectors.h"

namespace ps {

std::vector<float> WithTies(int64_t n, uint64_t seed) {
  std::vector<float> u = MakeVector("laplace", n, seed);
  for (float& each : u) each = 0.5f * std::round(2 * each);
  return u;
}

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

void SearchesOnDeviceTest::ExpectLargest(const std::vector<float>& residual,
                                         const std::vector<float>& gradient,
                                         int64_t k, float keep_above) {
  const int64_t n = static_cast<int64_t>(gradient.size());
  const std::vector<float> u = AddUp(residual, gradient);
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::fabs(u[a]) > std::fabs(u[b]);
  });
  Selection expected;
  expected.indices.assign(order.begin(), order.begin() + k);
  std::sort(expected.indices.begin(), expected.indices.end());
  for (const uint32_t i : expected.indices) expected.values.push_back(u[i]);

  DeviceTopKRequest request;
  request.k = k;
  request.keep_above = keep_above;
  DeviceResult result;
  const absl::Status status = Run(residual, gradient, request, &result);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(result.threshold, std::fabs(u[order[k - 1]]));
  EXPECT_EQ(result.num_selected, k);
  ASSERT_NO_FATAL_FAILURE(ExpectSelected(u, expected, result.selection));
  if (residual.empty()) return;
  EXPECT_EQ(result.moments.num_nonzero,
            n - std::count(u.begin(), u.end(), 0.0f));
  EXPECT_EQ(result.moments.max, std::fabs(u[order[0]]));
}

void SearchesOnDeviceTest::ExpectSubset(int64_t n, int64_t k, uint64_t key) {
  const std::vector<float> residual = MakeVector("sparse", n, key);
  const std::vector<float> gradient = MakeVector("laplace", n, key + 1);
  const std::vector<float> u = AddUp(residual, gradient);
  RandomStream random(key);
  Selection expected;
  expected.indices = DrawSubset(n, k, &random);
  for (const uint32_t i : expected.indices) expected.values.push_back(u[i]);
  DeviceRandomKRequest request;
  request.k = k;
  request.key = key;
  DeviceResult result;
  const absl::Status status = Run(residual, gradient, request, &result);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_NO_FATAL_FAILURE(ExpectSelected(u, expected, result.selection));
}

void SearchesOnDeviceTest::ExpectAbove(const std::vector<float>& residual,
                                       const std::vector<float>& gradient,
                                       const ThresholdRule& rule,
                                       float keep_above) {
  const std::vector<float> u = AddUp(residual, gradient);
  Moments moments;
  double sum = 0;
  for (const float x : u) {
    moments.sum += std::fabs(x);
    moments.sum_squares += static_cast<double>(x) * x;
    moments.max = std::max(moments.max, std::fabs(x));
    sum += x;
  }
  ThresholdSteps steps;
  steps.Start(rule, static_cast<int64_t>(u.size()), moments, sum);
  while (steps.asks()) {
    steps.Next(std::count_if(u.begin(), u.end(), [&](float x) {
      return std::fabs(x) > steps.threshold();
    }));
  }
  DeviceThresholdRequest request;
  request.rule = rule;
  request.keep_above = keep_above;
  ASSERT_NO_FATAL_FAILURE(
      ExpectAboveThreshold(residual, gradient, request, steps.location()));
}

void SearchesOnDeviceTest::ExpectAboveSample(const std::vector<float>& residual,
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
  ASSERT_NO_FATAL_FAILURE(ExpectAboveThreshold(residual, gradient, request,
                                               magnitudes[sample.k - 1]));
}

void SearchesOnDeviceTest::ExpectAboveThreshold(
    const std::vector<float>& residual, const std::vector<float>& gradient,
    DeviceThresholdRequest request, float threshold) {
  const std::vector<float> u = AddUp(residual, gradient);
  request.capacity = kCapacity;
  request.likely_count = kCapacity / 2;
  DeviceResult result;
  const absl::Status status = Run(residual, gradient, request, &result);
  ASSERT_TRUE(status.ok()) << status;
  if (request.rule.NeedsSums()) {
    ASSERT_NEAR(result.threshold, threshold, 1e-6 * threshold);
  } else {
    ASSERT_EQ(result.threshold, threshold);
  }
  const Selection expected = Above(u, result.threshold);
  ASSERT_EQ(result.num_selected, expected.size());
  EXPECT_EQ(
      result.moments.num_nonzero,
      static_cast<int64_t>(u.size()) - std::count(u.begin(), u.end(), 0.0f));
  ASSERT_NO_FATAL_FAILURE(
      ExpectSelected(u, expected, result.selection, kCapacity));
}

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Around the borders of tiles and segments.
const int64_t kSizes[] = {1, 31, 33, 511, 512, 513, 8191, 8192, 8193, 65537};

TEST_F(SearchesOnDeviceTest, LargestEqualAFullSort) {
  for (const int64_t n : kSizes) {
    for (const std::string& name : VectorNames()) {
      const std::vector<float> u = MakeVector(name, n, 7);
      for (const int64_t k : {int64_t{1}, n / 100, n / 2, n - 1, n}) {
        if (k < 1) continue;
        SCOPED_TRACE(testing::Message() << k << " of " << n << ", " << name);
        ASSERT_NO_FATAL_FAILURE(ExpectLargest({}, u, k));
      }
    }
  }
}

TEST_F(SearchesOnDeviceTest, TiesGoToTheLowerIndex) {
  const int64_t n = 3 * 8192 + 4;
  const std::vector<float> u = WithTies(n, 1);
  for (const int64_t k : {1, 2, 512, 1000, 8192, 8193, 20000}) {
    SCOPED_TRACE(k);
    ASSERT_NO_FATAL_FAILURE(ExpectLargest({}, u, k));
  }
  const std::vector<float> equal(n, -2.5f);
  for (const int64_t k : {1, 512, 513, 8191, 8192, 8193, 16384}) {
    SCOPED_TRACE(k);
    ASSERT_NO_FATAL_FAILURE(ExpectLargest({}, equal, k));
  }
}

// Whatever the guess keeps aside: too little, just enough, or so much that some
// segments have no list.
TEST_F(SearchesOnDeviceTest, NoGuessShowsInTheLargest) {
  const int64_t n = 65536 + 99;
  const int64_t k = 655;
  const std::vector<float> residual = MakeVector("laplace", n, 2);
  std::vector<float> gradient = WithTies(n, 3);
  // Some segments have more to keep than the others.
  for (int64_t i = 30000; i < 50000; ++i) gradient[i] *= 3;
  for (const float guess : {0.0f, 0.1f, 2.0f, 6.0f, 9.0f, 12.0f, 15.0f, 1e9f}) {
    SCOPED_TRACE(guess);
    ASSERT_NO_FATAL_FAILURE(ExpectLargest(residual, gradient, k, guess));
    ASSERT_NO_FATAL_FAILURE(
        ExpectLargest(std::vector<float>(n), WithTies(n, 4), k, guess));
  }
}

TEST_F(SearchesOnDeviceTest, RandomElementsAreThoseThatTheHostDraws) {
  for (const int64_t n : kSizes) {
    for (const int64_t k :
         {int64_t{1}, n / 100, n / 2, n / 2 + 1, n - n / 50, n - 1, n}) {
      if (k < 1 || k > n) continue;
      SCOPED_TRACE(testing::Message() << k << " of " << n);
      ASSERT_NO_FATAL_FAILURE(ExpectSubset(n, k, RandomKey(n, k)));
    }
  }
}

TEST_F(SearchesOnDeviceTest, ThresholdsAreThoseOfAPlainSearch) {
  for (const int64_t n : {2, 33, 513, 8193, 65537}) {
    for (const std::string& name : VectorNames()) {
      // Long vectors are slow on an emulated device.
      if (n > 8193 && name != "laplace" && name != "sparse") continue;
      const std::vector<float> gradient = MakeVector(name, n, 7);
      for (const ThresholdCase& each : ThresholdCases()) {
        SCOPED_TRACE(testing::Message()
                     << each.name << " of " << n << ", " << name);
        ThresholdRule rule = each.rule;
        rule.k = std::max<int64_t>(1, n / 100);
        ASSERT_NO_FATAL_FAILURE(
            ExpectAbove(std::vector<float>(n), gradient, rule));
        if (n != 513) continue;
        ASSERT_NO_FATAL_FAILURE(
            ExpectAbove(MakeVector("laplace", n, 8), gradient, rule));
      }
    }
  }
  EXPECT_GT(num_in_room_, 100);
  EXPECT_GT(num_too_many_, 0);
}

TEST_F(SearchesOnDeviceTest, NoGuessShowsInAThreshold) {
  const int64_t n = 32768 + 99;
  const std::vector<float> residual = MakeVector("laplace", n, 2);
  std::vector<float> gradient = MakeVector("laplace", n, 3);
  // Some segments have more to keep than fits a list.
  for (int64_t i = 10000; i < 20000; ++i) gradient[i] *= 3;
  for (const ThresholdCase& each : ThresholdCases()) {
    for (const float guess : {0.0f, 0.1f, 6.0f, 12.0f, 1e9f}) {
      SCOPED_TRACE(testing::Message() << each.name << ", " << guess);
      ThresholdRule rule = each.rule;
      rule.k = 328;
      ASSERT_NO_FATAL_FAILURE(ExpectAbove(residual, gradient, rule, guess));
    }
  }
}

TEST_F(SearchesOnDeviceTest, AThresholdIsTheOneThatIsGiven) {
  const int64_t n = 65536 + 5;
  const std::vector<float> gradient = MakeVector("laplace", n, 3);
  for (const double threshold : {-1.0, 0.0, 0.5, 5.0, 1e3, 1e300}) {
    SCOPED_TRACE(threshold);
    ThresholdRule rule;
    rule.threshold = threshold;
    ASSERT_NO_FATAL_FAILURE(ExpectAbove(std::vector<float>(n), gradient, rule));
    ASSERT_NO_FATAL_FAILURE(
        ExpectAbove(std::vector<float>(n), gradient, rule, 0.7f));
  }
  ASSERT_NO_FATAL_FAILURE(ExpectAbove({0}, {-3}, ThresholdRule()));
  // As many as there is space for, and one more.
  ThresholdRule rule;
  rule.threshold = 1;
  for (const int64_t above : {kCapacity, kCapacity + 1}) {
    std::vector<float> u(n, 1);
    for (int64_t i = 0; i < above; ++i) u[20 * i] = -2;
    num_in_room_ = 0;
    ASSERT_NO_FATAL_FAILURE(ExpectAbove(std::vector<float>(n), u, rule));
    EXPECT_EQ(num_in_room_, above == kCapacity ? 1 : 0);
  }
}

TEST_F(SearchesOnDeviceTest, ASampleIsTheOneThatTheHostDraws) {
  for (const int64_t n : {2, 33, 8191, 8192, 40000}) {
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
              ExpectAboveSample(std::vector<float>(n), gradient, sample));
        }
      }
    }
  }
}

// A bucket's gradient begins anywhere in the model's.
TEST_F(SearchesOnDeviceTest, VectorsMayBeginAnywhere) {
  const int64_t n = 8192 + 517;
  const std::vector<float> residual = MakeVector("laplace", n, 1);
  const std::vector<float> gradient = MakeVector("laplace", n, 2);
  ThresholdRule rule;
  rule.threshold = 4;
  for (const int64_t shift : {1, 2, 3}) {
    SetShift(shift);
    SCOPED_TRACE(shift);
    ASSERT_NO_FATAL_FAILURE(ExpectLargest(residual, gradient, 100, 3));
    ASSERT_NO_FATAL_FAILURE(ExpectLargest({}, gradient, 100));
    ASSERT_NO_FATAL_FAILURE(ExpectAbove(residual, gradient, rule, 2));
  }
}

TEST_F(SearchesOnDeviceTest, DenormalsCount) {
  std::vector<float> u(1000);
  for (int i = 0; i < 1000; ++i) u[i] = 1e-45f * static_cast<float>(i % 50);
  ASSERT_NO_FATAL_FAILURE(ExpectLargest(std::vector<float>(1000), u, 100));
  ThresholdRule rule;
  rule.threshold = 3e-44;
  ASSERT_NO_FATAL_FAILURE(ExpectAbove(std::vector<float>(1000), u, rule));
}

TEST_F(SearchesOnDeviceTest, NothingIsSelectedOfWhatIsNotFinite) {
  const int64_t n = 20000;
  std::vector<float> gradient = MakeVector("laplace", n, 1);
  gradient[n - 1] = -kInfinity;
  gradient[3] = kNaN;
  const std::vector<float> residual(n);
  const auto expect_nothing = [](const DeviceResult& result) {
    EXPECT_EQ(result.moments.num_non_finite, 2);
    EXPECT_EQ(result.moments.num_nonzero, 20000);
    EXPECT_EQ(result.selection, nullptr);
  };
  DeviceResult result;
  DeviceTopKRequest top_k;
  top_k.k = 10;
  ASSERT_TRUE(Run(residual, gradient, top_k, &result).ok());
  expect_nothing(result);
  DeviceRandomKRequest random_k;
  random_k.k = 10;
  ASSERT_TRUE(Run(residual, gradient, random_k, &result).ok());
  expect_nothing(result);
  DeviceThresholdRequest threshold;
  threshold.capacity = kCapacity;
  ASSERT_TRUE(Run(residual, gradient, threshold, &result).ok());
  expect_nothing(result);
}

TEST_F(SearchesOnDeviceTest, RefuseWhatIsNotThere) {
  const auto refuses = [this](const auto& request) {
    DeviceResult result;
    return Searching<std::decay_t<decltype(request)>>()
               .Run(request, &result)
               .code() == absl::StatusCode::kInvalidArgument;
  };
  for (const int64_t k : {-1, 0, 11}) {
    DeviceTopKRequest top_k;
    top_k.sum.n = 10;
    top_k.k = k;
    EXPECT_TRUE(refuses(top_k));
    DeviceRandomKRequest random_k;
    random_k.sum.n = 10;
    random_k.k = k;
    EXPECT_TRUE(refuses(random_k));
  }
  DeviceThresholdRequest threshold;
  threshold.capacity = 1;
  EXPECT_TRUE(refuses(threshold));
  threshold.sum.n = 10;
  threshold.capacity = 0;
  EXPECT_TRUE(refuses(threshold));
  threshold.capacity = 1;
  threshold.sample.size = 11;
  threshold.sample.k = 1;
  EXPECT_TRUE(refuses(threshold));
  threshold.sample.size = 5;
  for (const int64_t k : {-1, 6}) {
    threshold.sample.k = k;
    EXPECT_TRUE(refuses(threshold));
  }
  threshold.sample.k = 1;
  threshold.rule.kind = ThresholdRule::Kind::kDescent;
  EXPECT_TRUE(refuses(threshold));
}

// 8 bytes for each of 2^30 elements, where the device has 2^30 bytes.
TEST_F(SearchesOnDeviceTest, NameWhatThereIsNoRoomFor) {
  DeviceTopKRequest request;
  request.sum.n = request.k = int64_t{1} << 30;
  DeviceResult result;
  const absl::Status status =
      Searching<DeviceTopKRequest>().Run(request, &result);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

}  // namespace
}  // namespace ps
