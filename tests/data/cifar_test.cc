// The data sets "cifar10" and "cifar100", over files that the test writes.
#include <unistd.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "data/dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/scratch_folder.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kPlane = 32 * 32;

// An image of a single colour.
std::string Record(const std::string& labels, char red, char green, char blue) {
  return labels + std::string(kPlane, red) + std::string(kPlane, green) +
         std::string(kPlane, blue);
}

class CifarTest : public testing::Test {
 protected:
  CifarTest() {
    options_.config.set_name("cifar10");
    options_.config.set_directory(folder_.path());
    options_.config.mutable_cifar()->set_crop_padding(0);
    options_.config.mutable_cifar()->set_flip(false);
  }

  // Six training images, five black and one with all values 255, and a test
  // image.
  void WriteGoodFiles() {
    for (int i = 1; i <= 5; ++i) {
      folder_.Write(absl::StrCat("data_batch_", i, ".bin"),
                    Record({static_cast<char>(i)}, 0, 0, 0));
    }
    folder_.Write("data_batch_2.bin",
                  Record("\x02", 0, 0, 0) + Record("\x09", '\xff', '\xff', 51));
    folder_.Write("test_batch.bin", Record("\x07", 0, '\xff', 51));
  }

  void ExpectError(absl::StatusCode code, const std::string& reason) {
    const auto pair = NewDataset(options_);
    EXPECT_EQ(pair.status().code(), code) << pair.status();
    EXPECT_THAT(std::string(pair.status().message()), HasSubstr(reason));
  }

  ScratchFolder folder_;
  DatasetOptions options_;
};

TEST_F(CifarTest, FilesFollowEachOtherAndChannelsAreScaledByTheTrainingSet) {
  WriteGoodFiles();
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->size(), 6);
  EXPECT_EQ(pair->train->example_shape().num_classes, 10);
  Batch batch;
  ASSERT_TRUE(pair->train->Read({0, 1, 2, 3, 4, 5}, 0, &batch).ok());
  EXPECT_THAT(batch.labels, ElementsAre(1, 2, 9, 3, 4, 5));
  ASSERT_TRUE(pair->test->Read({0}, 0, &batch).ok());
  EXPECT_THAT(batch.labels, ElementsAre(7));
  // One image of six is a, five are 0: mean a / 6, deviation a x sqrt(5) / 6,
  // in every channel and for every a.
  const float low = -1 / std::sqrt(5.0f);
  const float high = 5 / std::sqrt(5.0f);
  EXPECT_NEAR(batch.inputs[0], low, 1e-6);
  EXPECT_NEAR(batch.inputs[kPlane], high, 1e-6);
  EXPECT_NEAR(batch.inputs[2 * kPlane], high, 1e-6);
  EXPECT_NEAR(batch.inputs[3 * kPlane - 1], high, 1e-6);
}

TEST_F(CifarTest, ARecordOfCifar100CountsItsSecondLabel) {
  options_.config.set_name("cifar100");
  folder_.Write("train.bin", Record("\x13\x63", 1, 2, 3));
  folder_.Write("test.bin", Record(std::string("\x00\x05", 2), 1, 2, 3));
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->example_shape().num_classes, 100);
  Batch batch;
  ASSERT_TRUE(pair->train->Read({0}, 0, &batch).ok());
  EXPECT_THAT(batch.labels, ElementsAre(99));
  folder_.Write("test.bin", Record("\x01\x64", 1, 2, 3));
  ExpectError(absl::StatusCode::kDataLoss,
              "test.bin: record 0 has label 100; must be at most 99");
}

TEST_F(CifarTest, TrainingImagesChangeFromEpochToEpochAndTestImagesDoNot) {
  WriteGoodFiles();
  // A gradient from left to right, so that every crop and flip is visible.
  std::string record = "\x03";
  for (int i = 0; i < 3 * kPlane; ++i) record += static_cast<char>(i % 32 * 8);
  folder_.Write("data_batch_1.bin", record);
  folder_.Write("test_batch.bin", record);
  options_.config.clear_cifar();
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch first, second, again;
  ASSERT_TRUE(pair->train->Read({0}, 0, &first).ok());
  ASSERT_TRUE(pair->train->Read({0}, 1, &second).ok());
  ASSERT_TRUE(pair->train->Read({0}, 0, &again).ok());
  EXPECT_NE(first.inputs, second.inputs);
  EXPECT_EQ(first.inputs, again.inputs);
  ASSERT_TRUE(pair->test->Read({0}, 0, &first).ok());
  ASSERT_TRUE(pair->test->Read({0}, 1, &second).ok());
  EXPECT_EQ(first.inputs, second.inputs);
  options_.augment = false;
  const auto unchanged = NewDataset(options_);
  ASSERT_TRUE(unchanged.ok()) << unchanged.status();
  ASSERT_TRUE(unchanged->train->Read({0}, 1, &again).ok());
  EXPECT_EQ(again.inputs, first.inputs);
}

TEST_F(CifarTest, AFileCutAnywhereButBetweenRecordsIsNamedWithItsRecord) {
  WriteGoodFiles();
  const std::string records = Record("\x01", 0, 0, 0) + Record("\x02", 0, 0, 0);
  for (const size_t length : {1, 2, 3072, 3074, 4000, 6145}) {
    folder_.Write("data_batch_4.bin", records.substr(0, length));
    ExpectError(absl::StatusCode::kDataLoss,
                absl::StrCat("data_batch_4.bin: record ", length / 3073,
                             " has ", length % 3073, " bytes; must have 3073"));
  }
  folder_.Write("data_batch_4.bin", "");
  ExpectError(absl::StatusCode::kDataLoss, "data_batch_4.bin: is empty");
}

TEST_F(CifarTest, ALabelAboveNineIsNamed) {
  WriteGoodFiles();
  folder_.Write("data_batch_5.bin",
                Record("\x05", 0, 0, 0) + Record("\xff", 0, 0, 0));
  ExpectError(absl::StatusCode::kDataLoss,
              "data_batch_5.bin: record 1 has label 255; must be at most 9");
}

TEST_F(CifarTest, AMissingFileIsNamedWithWhereItIsToBeHad) {
  WriteGoodFiles();
  ASSERT_EQ(unlink((folder_.path() + "/data_batch_3.bin").c_str()), 0);
  ExpectError(absl::StatusCode::kNotFound, "data_batch_3.bin");
  ExpectError(absl::StatusCode::kNotFound,
              "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz");
}

TEST_F(CifarTest, PaddingOutOfRangeIsAProblem) {
  options_.config.mutable_cifar()->set_crop_padding(33);
  ExpectError(absl::StatusCode::kInvalidArgument,
              "data.cifar.crop_padding is 33; must be in [0, 32]");
}

}  // namespace
}  // namespace ps
