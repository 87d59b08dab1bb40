#include "tools/advise/measurement.h"

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

// Every fourth push takes 4 s more.
RunRecords Records(int pushes, int local_steps = 1) {
  RunRecords records;
  records.num_servers = 2;
  records.num_parameters = 10;
  double seconds = 0;
  for (int i = 1; i <= pushes; ++i) {
    IterationRow row;
    row.iteration = i * local_steps;
    row.seconds = seconds += i % 4 == 0 ? 6 : 2;
    row.bytes_up = 100.0 * i;
    row.bytes_down = 300.0 * i;
    row.phases = {{"compute", 1},          {"compress", 0.5},
                  {"apply", 0.25},         {"overlapped", 0.125},
                  {"await", 0.375},        {"server_sum", 2},
                  {"server_optimizer", 1}, {"server_encode", 0.5}};
    records.iterations.push_back(row);
  }
  return records;
}

TEST(TakeMeasures, LeavesOutTheWarmUpAndTakesTheMedian) {
  const auto measures = TakeMeasures(Records(14));
  ASSERT_TRUE(measures.ok()) << measures.status();
  EXPECT_EQ(measures->iterations, 9);
  EXPECT_EQ(measures->iteration, 2);
  EXPECT_EQ(measures->compute, 1);
  EXPECT_EQ(measures->codec, 0.625);
  EXPECT_EQ(measures->await, 0.375);
  EXPECT_EQ(measures->apply, 0.25 * 0.625 / 0.75);
  EXPECT_EQ(measures->server, 1.75) << "of one of two servers";
  EXPECT_EQ(measures->server_sum, 1);
  EXPECT_EQ(measures->num_parameters, 10);
}

TEST(TakeMeasures, WithLocalStepsAreOfAnIterationAndNotOfAPush) {
  const auto measures = TakeMeasures(Records(14, /*local_steps=*/4));
  ASSERT_TRUE(measures.ok()) << measures.status();
  EXPECT_EQ(measures->iterations, 36);
  EXPECT_EQ(measures->iteration, 0.5);
  EXPECT_EQ(measures->compute, 0.25);
  EXPECT_EQ(measures->server, 1.75 / 4);
  EXPECT_EQ(measures->bytes_up, 25);
  EXPECT_EQ(measures->bytes_down, 75);
}

TEST(TakeMeasures, OfARunThatEndedEarlySayHowManyAreNeeded) {
  const auto measures = TakeMeasures(Records(10));
  EXPECT_TRUE(absl::IsDataLoss(measures.status()));
  EXPECT_THAT(std::string(measures.status().message()),
              HasSubstr("after 10 pushes; at least 11"));
}

TEST(TakeMeasures, RefuseRecordsWithoutPhasesOrNumbers) {
  RunRecords records = Records(14);
  for (IterationRow& row : records.iterations) row.phases.clear();
  EXPECT_TRUE(absl::IsDataLoss(TakeMeasures(records).status()));
  records = Records(14);
  records.iterations.back().bytes_up = std::nan("");
  EXPECT_TRUE(absl::IsDataLoss(TakeMeasures(records).status()));
}

}  // namespace
}  // namespace ps
