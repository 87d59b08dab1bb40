#include "tests/compressors/cuda/top_k_test.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "tests/compressors/vectors.h"

namespace ps {

void TopKOnDeviceTest::SetUp() {
  DeviceVectorsTest::SetUp();
  if (backend_ == nullptr) return;
  auto top_k = NewDeviceTopK(backend_->sparse().device_work());
  ASSERT_TRUE(top_k.ok()) << top_k.status();
  top_k_ = *std::move(top_k);
}

void TopKOnDeviceTest::ExpectLargest(const std::vector<float>& residual,
                                     const std::vector<float>& gradient,
                                     int64_t k, float keep_above) {
  const int64_t n = static_cast<int64_t>(gradient.size());
  const std::vector<float> u = AddUp(residual, gradient);
  std::vector<uint32_t> expected(n);
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(),
                   [&](uint32_t a, uint32_t b) {
                     return std::fabs(u[a]) > std::fabs(u[b]);
                   });
  const float smallest = std::fabs(u[expected[k - 1]]);
  expected.resize(k);
  std::sort(expected.begin(), expected.end());

  const Tensor device_residual = Put(residual);
  const Tensor device_gradient = Put(gradient);
  Tensor device_u = Put(residual.empty() ? u : std::vector<float>(n));
  DeviceTopKRequest request;
  if (!residual.empty()) {
    request.residual = device_residual.data();
    request.gradient = device_gradient.data();
  }
  request.u = device_u.data();
  request.n = n;
  request.k = k;
  request.keep_above = keep_above;
  DeviceTopKResult result;
  const absl::Status status = top_k_->Run(request, &result);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(result.selection.count, k);
  EXPECT_EQ(result.threshold, smallest);
  const Selection selection = Get(result.selection);
  ASSERT_EQ(selection.indices, expected);
  for (int64_t i = 0; i < k; ++i) {
    ASSERT_EQ(selection.values[i], u[expected[i]]);
  }
  if (residual.empty()) return;
  ASSERT_EQ(Get(device_u), u);
  EXPECT_EQ(result.moments.num_nonzero,
            n - std::count(u.begin(), u.end(), 0.0f));
}

namespace {

// A vector of few different magnitudes: thousands of each.
std::vector<float> WithTies(int64_t n, uint64_t seed) {
  std::vector<float> u = MakeVector("laplace", n, seed);
  for (float& each : u) each = 0.5f * std::round(2 * each);
  return u;
}

TEST_F(TopKOnDeviceTest, EqualsAFullSort) {
  for (const int64_t n :
       {1, 31, 33, 255, 257, 4097, 65535, 65536, 65537, 4 * 65536 + 77}) {
    for (const std::string& name : VectorNames()) {
      const std::vector<float> u = MakeVector(name, n, 7);
      for (const int64_t k : {int64_t{1}, n / 1000, n / 10, n / 2, n - 1, n}) {
        if (k < 1) continue;
        SCOPED_TRACE(testing::Message() << k << " of " << n << ", " << name);
        ASSERT_NO_FATAL_FAILURE(ExpectLargest({}, u, k));
      }
    }
  }
}

TEST_F(TopKOnDeviceTest, TiesGoToTheLowerIndex) {
  const int64_t n = 3 * 65536 + 4;
  const std::vector<float> u = WithTies(n, 1);
  // The cuts include borders of chunks and of tiles.
  for (const int64_t k : {1, 2, 1000, 4096, 30000, 65536, 65537, 150000}) {
    SCOPED_TRACE(k);
    ASSERT_NO_FATAL_FAILURE(ExpectLargest({}, u, k));
  }
  const std::vector<float> equal(n, -2.5f);
  for (const int64_t k : {1, 4096, 4097, 65535, 65536, 65537, 131072}) {
    SCOPED_TRACE(k);
    ASSERT_NO_FATAL_FAILURE(ExpectLargest({}, equal, k));
  }
}

// Whatever the guess keeps aside: too little, just enough, or so much that some
// chunks have no list.
TEST_F(TopKOnDeviceTest, NoGuessShowsInTheResult) {
  const int64_t n = 2 * 65536 + 99;
  const int64_t k = 1311;
  const std::vector<float> residual = MakeVector("laplace", n, 2);
  std::vector<float> gradient = WithTies(n, 3);
  // One chunk has more to keep than the others.
  for (int64_t i = 70000; i < 100000; ++i) gradient[i] *= 3;
  for (const float guess : {0.0f, 0.1f, 2.0f, 6.0f, 9.0f, 12.0f, 15.0f, 1e9f}) {
    SCOPED_TRACE(guess);
    ASSERT_NO_FATAL_FAILURE(ExpectLargest(residual, gradient, k, guess));
    ASSERT_NO_FATAL_FAILURE(
        ExpectLargest(std::vector<float>(n), WithTies(n, 4), k, guess));
  }
}

TEST_F(TopKOnDeviceTest, NothingIsSelectedOfWhatIsNotFinite) {
  const int64_t n = 70000;
  std::vector<float> gradient = MakeVector("laplace", n, 1);
  gradient[69999] = -std::numeric_limits<float>::infinity();
  gradient[3] = std::numeric_limits<float>::quiet_NaN();
  const Tensor residual = Put(std::vector<float>(n));
  const Tensor device_gradient = Put(gradient);
  Tensor u = Put(std::vector<float>(n));
  DeviceTopKRequest request;
  request.residual = residual.data();
  request.gradient = device_gradient.data();
  request.u = u.data();
  request.n = n;
  request.k = 10;
  DeviceTopKResult result;
  ASSERT_TRUE(top_k_->Run(request, &result).ok());
  EXPECT_EQ(result.moments.num_non_finite, 2);
  EXPECT_EQ(result.selection.count, 0);
}

TEST_F(TopKOnDeviceTest, RefusesWhatIsNotThere) {
  Tensor u = Put(std::vector<float>(10));
  DeviceTopKRequest request;
  request.u = u.data();
  request.n = 10;
  DeviceTopKResult result;
  for (const int64_t k : {-1, 0, 11}) {
    request.k = k;
    EXPECT_EQ(top_k_->Run(request, &result).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace ps
