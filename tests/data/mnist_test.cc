// The data set "mnist", over files that the test writes, and over the real ones
// if GRADSIEVE_SHARED names a folder that has data/mnist.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/data_description.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "common/program.h"
#include "data/dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/gzip_for_test.h"
#include "tests/data/scratch_folder.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Idx(const std::vector<int>& dimensions, const std::string& values) {
  std::string bytes = {0, 0, 8, static_cast<char>(dimensions.size())};
  for (const int dimension : dimensions) {
    bytes += {0, 0, 0, static_cast<char>(dimension)};
  }
  return bytes + values;
}

class MnistTest : public testing::Test {
 protected:
  MnistTest() {
    std::string directory = absl::StrCat(testing::TempDir(), "/mnist_XXXXXX");
    EXPECT_NE(mkdtemp(&directory[0]), nullptr);
    directory_ = directory;
  }

  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(
        WriteFileAtomically(absl::StrCat(directory_, "/", name), bytes).ok());
  }

  // Two training images and one test image, of 1 x 2 pixels.
  void WriteGoodFiles() {
    Write("train-images-idx3-ubyte",
          Idx({2, 1, 2}, std::string("\x00\xff\x00\xff", 4)));
    Write("train-labels-idx1-ubyte", Idx({2}, "\x03\x09"));
    Write("t10k-images-idx3-ubyte", Idx({1, 1, 2}, "\xff\xff"));
    Write("t10k-labels-idx1-ubyte", Idx({1}, "\x05"));
  }

  absl::StatusOr<DatasetPair> Load() { return LoadFrom(directory_); }

  static absl::StatusOr<DatasetPair> LoadFrom(const std::string& directory) {
    DatasetOptions options;
    options.config.set_name("mnist");
    options.config.set_directory(directory);
    return NewDataset(options);
  }

  void ExpectError(absl::StatusCode code, const std::string& reason) {
    const auto pair = Load();
    EXPECT_EQ(pair.status().code(), code) << pair.status();
    EXPECT_THAT(std::string(pair.status().message()), HasSubstr(reason));
  }

  std::string directory_;
};

TEST_F(MnistTest, FilesThatOthersStandBeforeAreNamed) {
  WriteGoodFiles();
  auto pair = Load();
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_TRUE(pair->notes.empty());
  Write("t10k-labels-idx1-ubyte.gz", "other labels");
  pair = Load();
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_THAT(pair->notes,
              ElementsAre(HasSubstr(absl::StrCat(
                  "1 file is not read: ", directory_,
                  "/t10k-labels-idx1-ubyte.gz; other files with these"))));
}

TEST_F(MnistTest, BothPartsAreScaledByTheTrainingSet) {
  WriteGoodFiles();
  const auto pair = Load();
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch batch;
  // Half of the training pixels are 0 and half are 1: mean and deviation are
  // 1/2.
  ASSERT_TRUE(pair->train->Read({0, 1}, 0, &batch).ok());
  EXPECT_THAT(batch.inputs, ElementsAre(-1, 1, -1, 1));
  EXPECT_THAT(batch.labels, ElementsAre(3, 9));
  ASSERT_TRUE(pair->test->Read({0}, 0, &batch).ok());
  EXPECT_THAT(batch.inputs, ElementsAre(1, 1));
  EXPECT_THAT(batch.labels, ElementsAre(5));
  EXPECT_EQ(pair->train->example_shape().num_classes, 10);
}

TEST_F(MnistTest, PackedFilesAndNamesWithADotAreFound) {
  Write("train-images-idx3-ubyte.gz",
        GzipForTest(Idx({1, 1, 2}, std::string("\x00\xff", 2))));
  Write("train-labels.idx1-ubyte.gz", GzipForTest(Idx({1}, "\x03")));
  Write("t10k-images.idx3-ubyte", Idx({1, 1, 2}, "\xff\xff"));
  Write("t10k-labels-idx1-ubyte", Idx({1}, "\x05"));
  const auto pair = Load();
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->size(), 1);
}

TEST_F(MnistTest, AMissingFileSaysWhatWasTriedAndWhereItIs) {
  WriteGoodFiles();
  ASSERT_EQ(unlink(absl::StrCat(directory_, "/t10k-labels-idx1-ubyte").c_str()),
            0);
  ExpectError(absl::StatusCode::kNotFound, directory_);
  ExpectError(absl::StatusCode::kNotFound, "no t10k-labels-idx1-ubyte.gz");
  ExpectError(absl::StatusCode::kNotFound, "no t10k-labels.idx1-ubyte");
  ExpectError(absl::StatusCode::kNotFound, "https://");
}

TEST_F(MnistTest, AMissingFolderIsNotFound) {
  directory_ += "/nowhere";
  ExpectError(absl::StatusCode::kNotFound,
              absl::StrCat("data.directory: cannot read ", directory_));
  ExpectError(absl::StatusCode::kNotFound, "No such file or directory");
}

TEST_F(MnistTest, WhereARelativeFolderBeginsIsSaid) {
  directory_ = "nowhere";
  char here[4096];
  ASSERT_NE(getcwd(here, sizeof(here)), nullptr);
  ExpectError(absl::StatusCode::kNotFound,
              absl::StrCat("data.directory: cannot read nowhere (a relative "
                           "path, which begins in ",
                           here, "): No such file or directory"));
  directory_ = "~/mnist";
  ExpectError(absl::StatusCode::kNotFound, "only a shell replaces ~");
}

TEST_F(MnistTest, WhatMayNotBeReadIsNamedWithTheReason) {
  WriteGoodFiles();
  const std::string images = directory_ + "/train-images-idx3-ubyte";
  const WithoutOverride without_override;
  ASSERT_EQ(chmod(images.c_str(), 0), 0);
  ExpectError(absl::StatusCode::kPermissionDenied,
              absl::StrCat("cannot open ", images, ": Permission denied"));
  EXPECT_EQ(ExitCodeFor(Load().status()), kExitConfig);
  ASSERT_EQ(chmod(directory_.c_str(), 0), 0);
  ExpectError(absl::StatusCode::kPermissionDenied,
              absl::StrCat("data.directory: cannot read ", directory_,
                           ": Permission denied"));
  ASSERT_EQ(chmod(directory_.c_str(), 0700), 0);
}

TEST_F(MnistTest, OtherPixelsAreOtherData) {
  WriteGoodFiles();
  const auto before = Load();
  Write("train-images-idx3-ubyte",
        Idx({2, 1, 2}, std::string("\x00\xff\x00\x80", 4)));
  const auto after = Load();
  ASSERT_TRUE(before.ok() && after.ok());
  // (0 + 1 + 0 + 128 / 255) / 4.
  EXPECT_THAT(DescribeDataDifference(before->description.text(),
                                     after->description.text()),
              HasSubstr("scale of channel 0: mean 0.37549, deviation"));
}

TEST_F(MnistTest, AsManyLabelsAsImages) {
  WriteGoodFiles();
  Write("train-labels-idx1-ubyte", Idx({3}, "\x03\x09\x01"));
  ExpectError(absl::StatusCode::kDataLoss, "has 2 images, but");
}

TEST_F(MnistTest, ALabelAboveNineIsNamed) {
  WriteGoodFiles();
  Write("train-labels-idx1-ubyte", Idx({2}, "\x03\x0a"));
  ExpectError(absl::StatusCode::kDataLoss, "label 1 is 10; must be at most 9");
}

TEST_F(MnistTest, TrainingAndTestImagesAreOfOneSize) {
  WriteGoodFiles();
  Write("t10k-images-idx3-ubyte", Idx({1, 2, 1}, "\xff\xff"));
  ExpectError(absl::StatusCode::kDataLoss, "test images 2 x 1");
}

TEST_F(MnistTest, ADamagedFileIsNamed) {
  WriteGoodFiles();
  std::string packed = GzipForTest(Idx({1}, "\x05"));
  packed[packed.size() - 5] ^= 1;  // The last byte of the checksum.
  Write("t10k-labels-idx1-ubyte", packed);
  ExpectError(absl::StatusCode::kDataLoss, "t10k-labels-idx1-ubyte: ");
}

TEST_F(MnistTest, TheRealFilesAreReadWhole) {
  const char* shared = getenv("GRADSIEVE_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "GRADSIEVE_SHARED is not set";
  const std::string directory = absl::StrCat(shared, "/data/mnist");
  if (access(directory.c_str(), R_OK) != 0) {
    GTEST_SKIP() << "there is no " << directory;
  }
  const auto pair = LoadFrom(directory);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->size(), 60000);
  EXPECT_EQ(pair->test->size(), 10000);
  EXPECT_EQ(pair->train->example_shape().num_elements(), 28 * 28);
  // The first labels are well known, and so are the training set's mean 0.1307
  // and deviation 0.3081. The background shows these: -0.1307 / 0.3081.
  Batch batch;
  ASSERT_TRUE(pair->train->Read({0, 1, 2, 3, 4}, 0, &batch).ok());
  EXPECT_THAT(batch.labels, ElementsAre(5, 0, 4, 1, 9));
  EXPECT_NEAR(batch.inputs[0], -0.1307 / 0.3081, 3e-4);
}

}  // namespace
}  // namespace ps
