// The data set "image_folder", over files that the test writes.
#include "data/image_folder.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/data_description.h"
#include "data/dataset.h"
#include "data/held_out.h"
#include "data/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/encode_image_for_test.h"
#include "tests/data/scratch_folder.h"

namespace ps {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

// A single grey value, but with a black left column, so that crops and flips
// are visible.
std::string Png(int width, int height, uint8_t value) {
  EncodeOptions options;
  options.width = width;
  options.height = height;
  std::vector<uint8_t> pixels(3 * width * height, value);
  for (int y = 0; y < height; ++y) {
    for (int c = 0; c < 3; ++c) pixels[3 * y * width + c] = 0;
  }
  return EncodePng(pixels, options);
}

std::string Jpeg(int width, int height, uint8_t value) {
  EncodeOptions options;
  options.width = width;
  options.height = height;
  return EncodeJpeg(std::vector<uint8_t>(3 * width * height, value), options);
}

class ImageFolderTest : public testing::Test {
 protected:
  ImageFolderTest() {
    options_.config.set_name("image_folder");
    options_.config.set_directory(folder_.path());
    options_.config.mutable_image_folder()->set_side(4);
    options_.config.mutable_image_folder()->set_test_resize(8);
    for (const char* name :
         {"train", "train/dog", "train/cat", "test", "test/cat", "test/dog"}) {
      folder_.MakeFolder(name);
    }
    folder_.Write("train/cat/b.JPG", Jpeg(16, 9, 100));
    folder_.Write("train/cat/a.png", Png(10, 12, 255));
    folder_.Write("train/cat/notes.txt", "no image");
    folder_.Write("train/dog/x.jpeg", Jpeg(5, 5, 0));
    folder_.Write("test/cat/y.jpg", Jpeg(16, 16, 124));
    folder_.Write("test/dog/z.png", Png(9, 9, 200));
  }

  void ExpectError(absl::StatusCode code, const std::string& reason) {
    const auto pair = NewDataset(options_);
    EXPECT_EQ(pair.status().code(), code) << pair.status();
    EXPECT_THAT(std::string(pair.status().message()), HasSubstr(reason));
  }

  ScratchFolder folder_;
  DatasetOptions options_;
};

TEST_F(ImageFolderTest, ClassesAndFilesAreInTheOrderOfTheirNames) {
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->size(), 3);
  EXPECT_EQ(pair->test->size(), 2);
  EXPECT_THAT(pair->train->class_names(), ElementsAre("cat", "dog"));
  EXPECT_THAT(pair->test->class_names(), ElementsAre("cat", "dog"));
  const ExampleShape shape = pair->train->example_shape();
  EXPECT_EQ(shape.num_classes, 2);
  EXPECT_EQ(shape.num_elements(), 3 * 4 * 4);
  Batch batch;
  ASSERT_TRUE(pair->train->Read({0, 1, 2}, 0, &batch).ok());
  EXPECT_THAT(batch.labels, ElementsAre(0, 0, 1));
  EXPECT_EQ(batch.inputs.size(), 3 * 3 * 4 * 4);
}

TEST_F(ImageFolderTest, EvaluationSeesTheMiddleScaledByImageNetsColours) {
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch batch;
  ASSERT_TRUE(pair->test->Read({0, 1}, 7, &batch).ok());
  const float mean[] = {0.485f, 0.456f, 0.406f};
  const float deviation[] = {0.229f, 0.224f, 0.225f};
  for (int c = 0; c < 3; ++c) {
    const auto plane = batch.inputs.begin() + c * 16;
    EXPECT_THAT(std::vector<float>(plane, plane + 16),
                // JPEG may be off by one of 255.
                Each(FloatNear((124 / 255.0f - mean[c]) / deviation[c], 0.02)));
    // The black column is outside the central crop.
    const auto dog = batch.inputs.begin() + 48 + c * 16;
    EXPECT_THAT(std::vector<float>(dog, dog + 16),
                Each(FloatNear((200 / 255.0f - mean[c]) / deviation[c], 1e-4)));
  }
}

TEST_F(ImageFolderTest, TrainingImagesChangeFromEpochToEpoch) {
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch first, other, again;
  int changes = 0;
  for (int epoch = 0; epoch < 10; ++epoch) {
    ASSERT_TRUE(pair->train->Read({0}, epoch, &first).ok());
    ASSERT_TRUE(pair->train->Read({0}, epoch + 1, &other).ok());
    ASSERT_TRUE(pair->train->Read({0}, epoch, &again).ok());
    EXPECT_EQ(first.inputs, again.inputs);
    changes += first.inputs != other.inputs ? 1 : 0;
  }
  EXPECT_GT(changes, 5);
}

TEST_F(ImageFolderTest, WithoutAugmentationTrainingImagesLookLikeTestImages) {
  folder_.Write("test/cat/y.jpg", Jpeg(16, 9, 100));
  folder_.Write("train/cat/b.JPG", Jpeg(16, 9, 100));
  options_.augment = false;
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch train, test;
  ASSERT_TRUE(pair->train->Read({1}, 3, &train).ok());
  ASSERT_TRUE(pair->test->Read({0}, 0, &test).ok());
  EXPECT_EQ(train.inputs, test.inputs);
}

TEST_F(ImageFolderTest, FilesFromElsewhereLookLikeTestImages) {
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->test->example_name(1), folder_.path() + "/test/dog/z.png");
  folder_.Write("notes.png", "no image");
  const auto converter = NewPhotographConverter(options_.config.image_folder());
  const auto files = NewImageFiles(
      {pair->test->example_name(1), folder_.path() + "/notes.png"},
      PhotographShape(options_.config.image_folder(), 2), converter.get(),
      {"a", "b"});
  EXPECT_EQ(files->example_name(0), pair->test->example_name(1));
  EXPECT_THAT(files->class_names(), ElementsAre("a", "b"));
  EXPECT_EQ(files->example_shape().num_elements(), 48);
  Batch file, expected;
  ASSERT_TRUE(files->Read({0}, 0, &file).ok());
  ASSERT_TRUE(pair->test->Read({1}, 0, &expected).ok());
  EXPECT_EQ(file.inputs, expected.inputs);
  EXPECT_THAT(file.labels, ElementsAre(0));
  const absl::Status bad = files->Read({1}, 0, &file);
  EXPECT_EQ(bad.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(bad.message()), HasSubstr("/notes.png: "));
  EXPECT_EQ(files->Read({2}, 0, &file).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ImageFolderTest, AClassHasNoLineBreakInItsName) {
  folder_.MakeFolder("train/a\nb");
  ExpectError(absl::StatusCode::kInvalidArgument,
              "/train: the name of the folder \"a\\nb\" has a line break");
}

TEST_F(ImageFolderTest, ADamagedFileNamesItselfAndTheReason) {
  const std::string jpeg = Jpeg(64, 64, 90);
  folder_.Write("train/dog/x.jpeg", jpeg.substr(0, jpeg.size() / 2));
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch batch;
  const absl::Status status = pair->train->Read({0, 2}, 0, &batch);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("train/dog/x.jpeg: "));
}

TEST_F(ImageFolderTest, WhatIsNoImageIsFoundAtTheStart) {
  folder_.Write("test/dog/w.png", "text");
  ExpectError(absl::StatusCode::kDataLoss,
              "test/dog/w.png: is neither JPEG nor PNG");
  folder_.Write("test/dog/w.png", "GIF89a");
  ExpectError(absl::StatusCode::kDataLoss,
              "test/dog/w.png: is neither JPEG nor PNG; it is a GIF image");
  folder_.Write("test/dog/w.png", "\x89PNG\n\x1a\n 1234");
  ExpectError(absl::StatusCode::kDataLoss,
              "test/dog/w.png: is a PNG image whose first bytes are damaged");
  folder_.Write("test/dog/w.png", "");
  ExpectError(absl::StatusCode::kDataLoss, "w.png");
}

TEST_F(ImageFolderTest, DamagedImagesCanBeSkipped) {
  const std::string jpeg = Jpeg(64, 64, 90);
  folder_.Write("train/dog/x.jpeg", jpeg.substr(0, jpeg.size() / 2));
  folder_.Write("test/cat/y.jpg", "no image");
  options_.config.set_on_bad_example(DataConfig::SKIP);
  options_.augment = false;
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  testing::internal::CaptureStderr();
  Batch batch, expected;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pair->train->Read({2, 1}, 0, &batch).ok());
    ASSERT_TRUE(pair->train->Read({0, 1}, 0, &expected).ok());
    EXPECT_EQ(batch.inputs, expected.inputs);
    EXPECT_EQ(batch.labels, expected.labels);
    ASSERT_TRUE(pair->test->Read({0}, 0, &batch).ok());
    EXPECT_THAT(batch.labels, ElementsAre(1));
  }
  const std::string log = testing::internal::GetCapturedStderr();
  for (const char* path : {"train/dog/x.jpeg", "test/cat/y.jpg"}) {
    const size_t first = log.find(path);
    EXPECT_NE(first, std::string::npos) << log;
    EXPECT_EQ(log.find(path, first + 1), std::string::npos) << log;
  }
  EXPECT_THAT(log, HasSubstr("; 1 so far"));
  // A file that is gone is another matter.
  ASSERT_EQ(unlink((folder_.path() + "/train/cat/a.png").c_str()), 0);
  EXPECT_EQ(pair->train->Read({0}, 0, &batch).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ImageFolderTest, ASetOfDamagedImagesAloneIsAnError) {
  for (const char* name : {"test/cat/y.jpg", "test/dog/z.png"}) {
    folder_.Write(name, "no image");
  }
  options_.config.set_on_bad_example(DataConfig::SKIP);
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch batch;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(pair->test->Read({0, 1}, 0, &batch).code(),
              absl::StatusCode::kDataLoss);
  }
  EXPECT_EQ(pair->test->Read({2}, 0, &batch).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ImageFolderTest, FilesThatAreNotReadAreCountedAndNamed) {
  const std::string path = folder_.path();
  for (const char* name : {"a.gif", "b.webp"}) {
    folder_.Write(absl::StrCat("train/dog/", name), "");
  }
  folder_.MakeFolder("train/dog/more");
  folder_.Write("test/list.csv", "");
  folder_.Write("labels.csv", "");
  folder_.MakeFolder("val");
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_THAT(
      pair->notes,
      ElementsAre(
          HasSubstr(absl::StrCat("1 file and 1 folder are not read: ", path,
                                 "/labels.csv, ", path, "/val/; images are")),
          HasSubstr(absl::StrCat("3 files and 1 folder are not read: ", path,
                                 "/train/cat/notes.txt, ", path,
                                 "/train/dog/more/, ", path,
                                 "/train/dog/a.gif and 1 more; images "
                                 "are .jpg, .jpeg and .png")),
          HasSubstr(
              absl::StrCat("1 file is not read: ", path, "/test/list.csv"))));
}

TEST_F(ImageFolderTest, OtherClassesOrFilesAreOtherData) {
  const auto before = NewDataset(options_);
  ASSERT_TRUE(before.ok()) << before.status();
  const auto difference = [&] {
    const auto after = NewDataset(options_);
    EXPECT_TRUE(after.ok()) << after.status();
    return DescribeDataDifference(before->description.text(),
                                  after->description.text());
  };
  EXPECT_EQ(difference(), "");
  const auto rename_in = [this](const std::string& from,
                                const std::string& to) {
    EXPECT_EQ(rename(absl::StrCat(folder_.path(), "/", from).c_str(),
                     absl::StrCat(folder_.path(), "/", to).c_str()),
              0);
  };
  rename_in("train/cat", "train/zcat");
  rename_in("test/cat", "test/zcat");
  EXPECT_THAT(difference(),
              HasSubstr("class 0: \"dog\" there and \"cat\" here; "
                        "class 1: \"zcat\" there and \"dog\""));
  rename_in("train/zcat", "train/cat");
  rename_in("test/zcat", "test/cat");
  rename_in("train/cat/a.png", "train/cat/c.png");
  EXPECT_THAT(difference(),
              HasSubstr("training file 0: \"cat/b.JPG\" there and "
                        "\"cat/a.png\" here"));
  folder_.Write("train/cat/a.png", Png(10, 12, 255));
  EXPECT_THAT(difference(), HasSubstr("training examples: 4 there and 3 here"));
}

TEST_F(ImageFolderTest, AnImageThatMayNotBeReadIsNamedWithTheReason) {
  const WithoutOverride without_override;
  const std::string path = folder_.path() + "/train/dog/x.jpeg";
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  ExpectError(absl::StatusCode::kPermissionDenied,
              absl::StrCat("cannot open ", path, ": Permission denied"));
}

TEST_F(ImageFolderTest, AnEmptyClassIsNamed) {
  folder_.MakeFolder("train/eel");
  ExpectError(absl::StatusCode::kNotFound, "train/eel has no .jpg");
}

TEST_F(ImageFolderTest, AClassThatTrainingLacksIsNamed) {
  folder_.MakeFolder("test/fox");
  ExpectError(absl::StatusCode::kNotFound, "test/fox: the training images");
}

TEST_F(ImageFolderTest, TheTestFolderMayBeCalledVal) {
  ASSERT_EQ(rename((folder_.path() + "/test").c_str(),
                   (folder_.path() + "/val").c_str()),
            0);
  EXPECT_TRUE(NewDataset(options_).ok());
  ASSERT_EQ(rename((folder_.path() + "/val").c_str(),
                   (folder_.path() + "/else").c_str()),
            0);
  ExpectError(absl::StatusCode::kNotFound, "has neither a folder test nor val");
}

// Thirty cats and ten dogs, without a test set.
class HeldOutImages : public testing::Test {
 protected:
  HeldOutImages() {
    options_.config.set_name("image_folder");
    options_.config.set_directory(folder_.path());
    options_.config.mutable_image_folder()->set_side(4);
    options_.config.mutable_image_folder()->set_test_resize(8);
    options_.config.set_validation_fraction(0.25);
    folder_.MakeFolder("cat");
    folder_.MakeFolder("dog");
    for (int i = 0; i < 40; ++i) {
      folder_.Write(absl::StrCat(i < 30 ? "cat/" : "dog/", i, ".png"),
                    Png(8, 9, static_cast<uint8_t>(6 * i)));
    }
  }

  DatasetPair Pair() const {
    auto pair = NewDataset(options_);
    EXPECT_TRUE(pair.ok()) << pair.status();
    return *std::move(pair);
  }

  static std::vector<std::string> Names(const Dataset& set) {
    std::vector<std::string> names;
    for (int64_t i = 0; i < set.size(); ++i) {
      names.push_back(set.example_name(i));
    }
    return names;
  }

  ScratchFolder folder_;
  DatasetOptions options_;
};

TEST_F(HeldOutImages, AreEvaluatedAndNotTrained) {
  const DatasetPair pair = Pair();
  EXPECT_EQ(pair.train->size(), 30);
  EXPECT_EQ(pair.test->size(), 10);
  std::set<std::string> all;
  for (const Dataset* const set : {pair.train.get(), pair.test.get()}) {
    EXPECT_THAT(set->class_names(), ElementsAre("cat", "dog"));
    Batch first, later;
    std::vector<int64_t> numbers(set->size());
    std::iota(numbers.begin(), numbers.end(), 0);
    ASSERT_TRUE(set->Read(numbers, 0, &first).ok());
    ASSERT_TRUE(set->Read(numbers, 1, &later).ok());
    EXPECT_EQ(first.inputs == later.inputs, set == pair.test.get());
    const std::vector<std::string> names = Names(*set);
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(first.labels[i], absl::StrContains(names[i], "/dog/"));
    }
    all.insert(names.begin(), names.end());
  }
  EXPECT_EQ(all.size(), 40);
}

TEST_F(HeldOutImages, DependOnTheSeedAlone) {
  const DatasetPair pair = Pair();
  const DatasetPair again = Pair();
  EXPECT_EQ(Names(*pair.test), Names(*again.test));
  EXPECT_EQ(pair.description.text(), again.description.text());
  options_.augment = false;
  EXPECT_EQ(Names(*Pair().test), Names(*pair.test));
  options_.seed = 1;
  const DatasetPair other = Pair();
  EXPECT_NE(Names(*pair.test), Names(*other.test));
  EXPECT_NE(pair.description.text(), other.description.text());
}

// Over many seeds each image is held out as often as the fraction says, and so
// a class loses its share.
TEST_F(HeldOutImages, AreChosenEvenly) {
  constexpr int kSeeds = 400;
  std::vector<int> times(40);
  for (int seed = 0; seed < kSeeds; ++seed) {
    options_.seed = seed;
    const auto held_out = HeldOut(options_, 40);
    ASSERT_TRUE(held_out.ok()) << held_out.status();
    EXPECT_EQ(std::count(held_out->begin(), held_out->end(), true), 10);
    for (int i = 0; i < 40; ++i) times[i] += (*held_out)[i];
  }
  // 100 each, with a standard deviation of 8.7.
  for (const int each : times) EXPECT_NEAR(each, kSeeds / 4, 40);
}

TEST_F(HeldOutImages, MayBeInAFolderTrain) {
  const std::vector<std::string> before = Names(*Pair().test);
  folder_.MakeFolder("train");
  for (const char* name : {"cat", "dog"}) {
    ASSERT_EQ(rename(absl::StrCat(folder_.path(), "/", name).c_str(),
                     absl::StrCat(folder_.path(), "/train/", name).c_str()),
              0);
  }
  const std::vector<std::string> after = Names(*Pair().test);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i],
              absl::StrReplaceAll(before[i], {{"/cat/", "/train/cat/"},
                                              {"/dog/", "/train/dog/"}}));
  }
}

TEST_F(HeldOutImages, AreRefusedBesideATestSetAndIfTooFew) {
  options_.config.set_validation_fraction(0.01);
  EXPECT_EQ(NewDataset(options_).status(),
            absl::InvalidArgumentError(
                "data.validation_fraction is 0.01; that is 0 of 40 examples, "
                "and both training and evaluation need one"));
  options_.config.set_validation_fraction(0.99);
  EXPECT_THAT(std::string(NewDataset(options_).status().message()),
              HasSubstr("that is 40 of 40 examples"));
  folder_.MakeFolder("val");
  EXPECT_EQ(NewDataset(options_).status(),
            absl::InvalidArgumentError(absl::StrCat(
                "data.validation_fraction is 0.99; must be 0, because there is "
                "a test set: ",
                folder_.path(), "/val")));
}

TEST_F(ImageFolderTest, OptionsOutOfRangeAreProblems) {
  options_.config.mutable_image_folder()->set_test_resize(3);
  ExpectError(absl::StatusCode::kInvalidArgument,
              "data.image_folder.test_resize is 3; must be in [4, 4096]");
  options_.config.mutable_image_folder()->set_test_resize(8);
  options_.config.mutable_image_folder()->set_min_area(0);
  ExpectError(absl::StatusCode::kInvalidArgument,
              "data.image_folder.min_area is 0");
}

}  // namespace
}  // namespace ps
