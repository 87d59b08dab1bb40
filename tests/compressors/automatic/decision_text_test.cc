#include "compressors/automatic/decision_text.h"

#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(DecisionTextTest, SaysWhatIsDoneAndWhy) {
  CompressionDecision decision;
  decision.seconds = 0.0351;
  decision.dense_seconds = 0.2101;
  decision.compressed_seconds = 0.0351;
  decision.seconds_per_byte = 4.12e-7;
  decision.compressed = {true, true};
  EXPECT_EQ(DescribeDecision(decision, 230),
            "compressing everything from iteration 230 on: 35.1 ms an "
            "iteration against 210 dense; a megabyte more takes 412 ms");
  decision.compressed = {false};
  decision.seconds = 0.2101;
  EXPECT_EQ(DescribeDecision(decision, 0),
            "sending everything dense from iteration 0 on: 210 ms an iteration "
            "against 35.1 compressed; a megabyte more takes 412 ms");
  decision.compressed = {true, true, false, true};
  decision.seconds = 0.03;
  decision.seconds_per_byte = 0;
  EXPECT_EQ(DescribeDecision(decision, 7),
            "compressing buckets 0-1, 3 and sending bucket 2 dense from "
            "iteration 7 on: 30 ms an iteration against 210 dense and 35.1 "
            "compressed; a megabyte more takes 0 ms");
}

}  // namespace
}  // namespace ps
