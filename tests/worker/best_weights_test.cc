#include "worker/records/best_weights.h"

#include <string>

#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(BestWeights, AFileSaysAllDigitsOfItsEvaluation) {
  const std::string path = testing::TempDir() + "/best.safetensors";
  BestEvaluation best;
  best.iteration = 1234567;
  best.metric = {"perplexity", 1.0 / 3};
  ASSERT_TRUE(WriteSafetensors(path, {}, MetadataOf(best)).ok());
  const auto read = ReadBestEvaluation(path, Task::kWords);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->iteration, 1234567);
  EXPECT_EQ(read->metric.name, "perplexity");
  EXPECT_EQ(read->metric.value, 1.0 / 3);
}

TEST(BestWeights, AFileThatDoesNotSayItIsReplaced) {
  const std::string path = testing::TempDir() + "/other.safetensors";
  EXPECT_FALSE(ReadBestEvaluation(path, Task::kWords).has_value());
  BestEvaluation best;
  best.metric = {"accuracy", 0.5};
  ASSERT_TRUE(WriteSafetensors(path, {}, MetadataOf(best)).ok());
  testing::internal::CaptureStderr();
  EXPECT_FALSE(ReadBestEvaluation(path, Task::kWords).has_value());
  ASSERT_TRUE(WriteFileAtomically(path, "damaged").ok());
  EXPECT_FALSE(ReadBestEvaluation(path, Task::kImages).has_value());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("does not say how good its weights are"));
}

}  // namespace
}  // namespace ps
