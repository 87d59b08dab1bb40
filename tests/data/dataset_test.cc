// Laws that hold for every registered data set, and the checks of a job's
// `data`.
#include "data/dataset.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Problems(const JobConfig& config) {
  return FindProblems(config).lines();
}

TEST(DatasetTest, AllDataSetsAreLinkedIn) {
  EXPECT_THAT(
      DatasetRegistry().Names(),
      ElementsAre("characters", "cifar10", "cifar100", "digits", "image_folder",
                  "labelled_text", "mnist", "phrase_characters", "phrases",
                  "ptb", "shapes", "speech", "tones"));
}

TEST(DatasetTest, UnknownNameIsAnErrorThatListsTheKnownOnes) {
  DatasetOptions options;
  options.config.set_name("imagenet");
  const auto pair = NewDataset(options);
  EXPECT_EQ(pair.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(pair.status().message()),
      HasSubstr("\"imagenet\"; known are: characters, cifar10, "
                "cifar100, digits, image_folder, labelled_text, mnist"));
}

TEST(DataConfigTest, DefaultsAreValid) {
  EXPECT_THAT(Problems(JobConfig()), IsEmpty());
}

TEST(DataConfigTest, UnknownNameListsTheKnownOnes) {
  JobConfig config;
  config.mutable_data()->set_name("minst");
  EXPECT_THAT(Problems(config),
              ElementsAre(AllOf(
                  HasSubstr("data.name is \"minst\"; must be one of"),
                  HasSubstr("digits, image_folder, labelled_text, mnist"))));
}

TEST(DataConfigTest, SetsThatAreReadFromFilesNeedADirectory) {
  for (const char* name : {"characters", "cifar10", "cifar100", "image_folder",
                           "labelled_text", "mnist", "ptb", "speech"}) {
    JobConfig config;
    config.mutable_data()->set_name(name);
    EXPECT_THAT(Problems(config),
                ElementsAre(AllOf(HasSubstr("data.directory is empty"),
                                  HasSubstr(name))));
    config.mutable_data()->set_directory("somewhere");
    EXPECT_THAT(Problems(config), IsEmpty());
  }
}

TEST(DataConfigTest, ExamplesAreHeldOutOnlyWhereThereIsNoTestSet) {
  for (const std::string& name : DatasetRegistry().Names()) {
    JobConfig config;
    config.mutable_data()->set_name(name);
    config.mutable_data()->set_directory("somewhere");
    config.mutable_data()->set_validation_fraction(0.1);
    if (name == "characters" || name == "image_folder" ||
        name == "labelled_text" || name == "speech") {
      EXPECT_THAT(Problems(config), IsEmpty()) << name;
      continue;
    }
    EXPECT_THAT(Problems(config),
                ElementsAre(AllOf(HasSubstr("data.validation_fraction is 0.1; "
                                            "must be 0 with"),
                                  HasSubstr(name))));
  }
}

TEST(DataConfigTest, EveryOptionOfDigitsOutOfRangeIsAProblemOfItsOwn) {
  JobConfig config;
  DigitsConfig* digits = config.mutable_data()->mutable_digits();
  digits->set_train_examples(0);
  digits->set_test_examples(int64_t{1} << 40);
  digits->set_noise(-0.1);
  digits->set_distortion(std::numeric_limits<double>::quiet_NaN());
  const std::vector<std::string> problems = Problems(config);
  EXPECT_EQ(problems.size(), 4);
  for (const char* field :
       {"train_examples", "test_examples", "noise", "distortion"}) {
    EXPECT_THAT(problems, Contains(HasSubstr(field)));
  }
  DatasetOptions options;
  options.config = config.data();
  EXPECT_EQ(NewDataset(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ps
