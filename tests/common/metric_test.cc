#include "common/metric.h"

#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(Metric, AccuraciesAndRatesAreReadInPerCent) {
  EXPECT_EQ(FormatMetric("accuracy", 0.987), "98.70 %");
  EXPECT_EQ(FormatMetric("test_word_error_rate", 1.25), "125.00 %");
  EXPECT_EQ(FormatMetric("perplexity", 84.21012), "84.2101");
  EXPECT_FALSE(IsFraction("bits_per_character"));
  EXPECT_FALSE(IsFraction("test_loss"));
}

TEST(Metric, NamesBecomeWords) {
  EXPECT_EQ(MetricWords("test_top5_accuracy"), "test top-5 accuracy");
  EXPECT_EQ(MetricWords("bits_per_character"), "bits per character");
}

TEST(Metric, ALossWithoutBoundHasAnExponent) {
  EXPECT_EQ(FormatLoss(0.23116), "0.2312");
  EXPECT_EQ(FormatLoss(123456.75), "123456.7500");
  EXPECT_EQ(FormatLoss(12185054068370902614016.0), "1.219e+22");
  EXPECT_EQ(FormatMetric("test_loss", 1e7), "1e+07");
}

}  // namespace
}  // namespace ps
