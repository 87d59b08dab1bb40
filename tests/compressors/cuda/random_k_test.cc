#include "tests/compressors/cuda/random_k_test.h"

#include <limits>
#include <utility>
#include <vector>

#include "common/random.h"
#include "compressors/selectors/random_subset.h"
#include "tests/compressors/vectors.h"

namespace ps {

void RandomKOnDeviceTest::SetUp() {
  DeviceVectorsTest::SetUp();
  if (backend_ == nullptr) return;
  auto random_k = NewDeviceRandomK(backend_->sparse().device_work());
  ASSERT_TRUE(random_k.ok()) << random_k.status();
  random_k_ = *std::move(random_k);
}

void RandomKOnDeviceTest::ExpectSubset(int64_t n, int64_t k, uint64_t key) {
  const std::vector<float> residual = MakeVector("sparse", n, key);
  const std::vector<float> gradient = MakeVector("laplace", n, key + 1);
  const std::vector<float> u = AddUp(residual, gradient);
  RandomStream random(key);
  const std::vector<uint32_t> expected = DrawSubset(n, k, &random);

  const Tensor device_residual = Put(residual);
  const Tensor device_gradient = Put(gradient);
  Tensor device_u = Put(std::vector<float>(n));
  DeviceRandomKRequest request;
  request.residual = device_residual.data();
  request.gradient = device_gradient.data();
  request.u = device_u.data();
  request.n = n;
  request.k = k;
  request.key = key;
  DeviceRandomKResult result;
  const absl::Status status = random_k_->Run(request, &result);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(Get(device_u), u);
  ASSERT_EQ(result.selection.count, k);
  const Selection selection = Get(result.selection);
  ASSERT_EQ(selection.indices, expected);
  for (int64_t i = 0; i < k; ++i) {
    ASSERT_EQ(selection.values[i], u[expected[i]]);
  }
}

namespace {

TEST_F(RandomKOnDeviceTest, TakesWhatTheHostDraws) {
  for (const int64_t n :
       {1, 2, 31, 32, 33, 255, 257, 4097, 65535, 65536, 65537, 200003}) {
    for (const int64_t k : {int64_t{1}, n / 1000, n / 10, n / 2, n / 2 + 1,
                            n - n / 50, n - 1, n}) {
      if (k < 1 || k > n) continue;
      SCOPED_TRACE(testing::Message() << k << " of " << n);
      ASSERT_NO_FATAL_FAILURE(ExpectSubset(n, k, RandomKey(n, k)));
    }
  }
}

TEST_F(RandomKOnDeviceTest, NothingIsTakenOfWhatIsNotFinite) {
  const int64_t n = 70000;
  std::vector<float> gradient(n, 1);
  gradient[69999] = -std::numeric_limits<float>::infinity();
  const Tensor residual = Put(std::vector<float>(n));
  const Tensor device_gradient = Put(gradient);
  Tensor u = Put(std::vector<float>(n));
  DeviceRandomKRequest request;
  request.residual = residual.data();
  request.gradient = device_gradient.data();
  request.u = u.data();
  request.n = n;
  request.k = 10;
  DeviceRandomKResult result;
  ASSERT_TRUE(random_k_->Run(request, &result).ok());
  EXPECT_EQ(result.moments.num_non_finite, 1);
  EXPECT_EQ(result.moments.num_nonzero, n);
  EXPECT_EQ(result.selection.count, 0);
}

TEST_F(RandomKOnDeviceTest, RefusesWhatIsNotThere) {
  DeviceRandomKRequest request;
  request.n = 10;
  DeviceRandomKResult result;
  for (const int64_t k : {-1, 0, 11}) {
    request.k = k;
    EXPECT_EQ(random_k_->Run(request, &result).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace ps
