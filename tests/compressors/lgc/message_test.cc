// What LGC's workers and servers tell each other, and the order of values.
#include "compressors/lgc/message.h"

#include <string>
#include <vector>

#include "compressors/lgc/autoencoder.h"
#include "compressors/lgc/values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/lgc/leaders_push.h"

namespace ps {
namespace {

TEST(LgcMessages, ComeBackAsTheyWere) {
  const LeadersPush push = GoodPush();
  const LgcRemark remark = ReadLgcRemark(Write(push.remark), 300).value();
  EXPECT_EQ(Write(remark), Write(push.remark));
  const LgcValues values =
      ReadLgcValues(Write(push.values, 280), 20, 280, CodeLength(280)).value();
  EXPECT_EQ(values.plain, push.values.plain);
  EXPECT_EQ(values.code, push.values.code);
  EXPECT_EQ(values.places, push.values.places);
  EXPECT_EQ(values.innovation, push.values.innovation);
  LgcPlan plan;
  plan.sends_code = true;
  plan.version = 7;
  plan.encoder = FloatBytes(InitialEncoder(1));
  const LgcPlan read = ReadLgcPlan(Write(plan)).value();
  EXPECT_TRUE(read.sends_code);
  EXPECT_EQ(read.version, 7u);
  EXPECT_EQ(read.encoder, plan.encoder);
  EXPECT_FALSE(ReadLgcPlan(Write(plan) + "x").ok());
}

TEST(LgcValues, AreOrderedBySignInEachRange) {
  const std::vector<float> values = {9, -1, 2, 0, -3, 8, -5, 4};
  const std::vector<ValueRange> ranges = {{1, 5}, {6, 8}};
  const std::vector<bool> signs = Signs(ranges, values);
  EXPECT_THAT(OrderOf(ranges, signs), testing::ElementsAre(2, 3, 1, 4, 7, 6));
  EXPECT_THAT(OrderOf(ranges, {}), testing::ElementsAre(1, 2, 3, 4, 6, 7));
  EXPECT_THAT(LargestPlaces({1, -5, 5, 2, 0}, 0.3), testing::ElementsAre(1, 2));
  EXPECT_THAT(LargestPlaces({1, -5}, 0), testing::IsEmpty());
}

}  // namespace
}  // namespace ps
