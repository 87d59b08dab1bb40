#include "worker/residuals.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "worker/bucket_plan.h"

namespace ps {
namespace {

using testing::ElementsAre;

class ResidualsTest : public testing::Test {
 protected:
  std::unique_ptr<Residuals> Make(bool may_return) {
    return Residuals::Create({{3, 7}, {0, 3}}, may_return, backend_.get())
        .value();
  }
  void Fill(const std::vector<float>& values, Tensor* tensor) {
    ASSERT_TRUE(backend_->CopyFromHost(values.data(), tensor).ok());
  }
  std::vector<float> Values(const Tensor& tensor) {
    std::vector<float> values(tensor.size());
    EXPECT_TRUE(backend_->CopyToHost(tensor, values.data()).ok());
    return values;
  }

  const std::unique_ptr<Backend> backend_ =
      NewCpuBackend(CpuBackendOptions()).value();
};

PayloadBuffer Payload(const std::vector<float>& values) {
  return EncodeDense({values.data(), values.size()});
}

TEST_F(ResidualsTest, AreOneZeroVectorForEachBucket) {
  const auto residuals = Make(false);
  EXPECT_THAT(Values(*residuals->of(0)), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(Values(*residuals->of(1)), ElementsAre(0, 0, 0));
  EXPECT_EQ(residuals->Norm().value(), 0);
}

TEST_F(ResidualsTest, AreLoadedAsTheyWereSaved) {
  const auto first = Make(false);
  Fill({1, -2, 0, 2}, first->of(0));
  Fill({0, 4, 1e-30f}, first->of(1));
  const std::string saved = first->Save().value();
  const auto second = Make(false);
  ASSERT_TRUE(second->Load(saved).ok());
  EXPECT_THAT(Values(*second->of(0)), ElementsAre(1, -2, 0, 2));
  EXPECT_THAT(Values(*second->of(1)), ElementsAre(0, 4, 1e-30f));
  const auto other = Residuals::Create({{0, 9}}, false, backend_.get()).value();
  EXPECT_TRUE(absl::IsDataLoss(other->Load(saved)));
}

TEST_F(ResidualsTest, NormIsOverAllBuckets) {
  const auto residuals = Make(false);
  Fill({1, -2, 0, 2}, residuals->of(0));
  Fill({0, 4, 0}, residuals->of(1));
  EXPECT_DOUBLE_EQ(residuals->Norm().value(), 5);
}

TEST_F(ResidualsTest, NormOfManyElements) {
  const int64_t n = 200'000;  // Several pieces and a part of one.
  const auto residuals =
      Residuals::Create({{0, n}}, false, backend_.get()).value();
  std::vector<float> values(n, 0.5F);
  values.back() = 3;
  Fill(values, residuals->of(0));
  EXPECT_DOUBLE_EQ(residuals->Norm().value(),
                   std::sqrt(0.25 * static_cast<double>(n - 1) + 9));
}

TEST_F(ResidualsTest, ClearLeavesOtherBuckets) {
  const auto residuals = Make(false);
  Fill({1, 2, 3, 4}, residuals->of(0));
  Fill({5, 6, 7}, residuals->of(1));
  ASSERT_TRUE(residuals->Clear(0).ok());
  EXPECT_THAT(Values(*residuals->of(0)), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(Values(*residuals->of(1)), ElementsAre(5, 6, 7));
}

TEST_F(ResidualsTest, WhatWasSentOfOneSliceComesBackOnTop) {
  const auto residuals = Make(true);
  Fill({1, 2, 3, 4}, residuals->of(0));
  Fill({5, 6, 7}, residuals->of(1));
  residuals->Sent(0, {Payload({100}), Payload({200, 300, 400})});
  residuals->Sent(0, {Payload({10}), Payload({20, 30, 40})});
  Slice slice;
  slice.bucket = 0;
  slice.index = 1;
  slice.begin = 1;
  slice.end = 4;
  ASSERT_TRUE(residuals->PutBack(slice).ok());
  EXPECT_THAT(Values(*residuals->of(0)), ElementsAre(1, 22, 33, 44));
  EXPECT_THAT(Values(*residuals->of(1)), ElementsAre(5, 6, 7));
}

TEST_F(ResidualsTest, WithoutErrorFeedbackNothingComesBack) {
  const auto residuals = Make(false);
  Fill({1, 2, 3, 4}, residuals->of(0));
  residuals->Sent(0, {Payload({10, 20, 30, 40})});
  Slice slice;
  slice.end = 4;
  ASSERT_TRUE(residuals->PutBack(slice).ok());
  EXPECT_THAT(Values(*residuals->of(0)), ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace ps
