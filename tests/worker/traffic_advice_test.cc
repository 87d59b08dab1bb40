#include "worker/records/traffic_advice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

RunTotals Totals(int64_t up, int64_t down) {
  RunTotals totals;
  totals.bytes_up = up;
  totals.bytes_down = down;
  return totals;
}

TEST(TrafficAdviceTest, IsSilentWhereBothDirectionsTakeAboutAsMuch) {
  EXPECT_EQ(TrafficAdvice(JobConfig(), Totals(100, 400)), "");
  EXPECT_EQ(TrafficAdvice(JobConfig(), Totals(400, 100)), "");
}

TEST(TrafficAdviceTest, NamesTheFieldThatMakesTheWayBackSmaller) {
  JobConfig job;
  job.mutable_optimizer()->set_name("momentum");
  EXPECT_THAT(TrafficAdvice(job, Totals(1, 99)),
              HasSubstr("99 % of the bytes go to the workers: optimizer "
                        "\"momentum\" at the servers changes weights that "
                        "nobody pushed; as worker_optimizer"));
  job.mutable_worker_optimizer()->set_name("momentum");
  EXPECT_THAT(TrafficAdvice(job, Totals(1, 99)),
              HasSubstr("downlink { mode: COMPRESSED"));
  job.mutable_downlink()->set_mode(DownlinkConfig::WEIGHTS);
  EXPECT_THAT(TrafficAdvice(job, Totals(1, 99)),
              HasSubstr("downlink.mode WEIGHTS sends all weights; AUTO"));
}

TEST(TrafficAdviceTest, NamesTheCompressorWherePushesAreLarge) {
  EXPECT_THAT(TrafficAdvice(JobConfig(), Totals(99, 1)),
              HasSubstr("99 % of the bytes go to the servers: set compressor"));
}

}  // namespace
}  // namespace ps
