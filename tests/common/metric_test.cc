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

}  // namespace
}  // namespace ps
