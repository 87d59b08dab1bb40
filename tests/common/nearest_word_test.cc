#include "common/nearest_word.h"

#include <string>
#include <vector>

#include "common/job_fields.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(NearestWordTest, CountsChangesAndSwapsOfNeighbours) {
  const std::vector<std::string> known = {"train", "compress", "bench"};
  EXPECT_EQ(NearestWord("trian", known), "train");
  EXPECT_EQ(NearestWord("compres", known), "compress");
  EXPECT_EQ(NearestWord("comp", known), "compress");
  EXPECT_EQ(NearestWord("bencch", known), "bench");
  EXPECT_EQ(NearestWord("report", known), "");
  EXPECT_EQ(NearestWord("export", {"report"}), "");
  EXPECT_EQ(NearestWord("eport", {"report"}), "report");
  EXPECT_EQ(NearestWord("", known), "");
  EXPECT_EQ(NearestWord("train", {}), "");
}

TEST(NearestWordTest, KnowsHowPeopleShortenNames) {
  const std::vector<std::string> known = {"image_folder", "int8_block", "sgd",
                                          "learning_rate", "batch_size"};
  EXPECT_EQ(NearestWord("SGD", known), "sgd");
  EXPECT_EQ(NearestWord("int8", known), "int8_block");
  EXPECT_EQ(NearestWord("imagenet", known), "image_folder");
  EXPECT_EQ(NearestWord("ImageFolder", known), "image_folder");
  EXPECT_EQ(NearestWord("lr", known), "learning_rate");
  EXPECT_EQ(NearestWord("bs", known), "batch_size");
  EXPECT_EQ(NearestWord("rate", known), "learning_rate");
  EXPECT_EQ(NearestWord("momentum", known), "");
}

TEST(NearestWordTest, TakesNoOtherShortWordForAMistake) {
  EXPECT_EQ(NearestWord("gelu", {"relu", "sigmoid", "tanh"}), "");
  EXPECT_EQ(NearestWord("elu", {"relu"}), "relu");
  EXPECT_EQ(NearestWord("rely", {"relu"}), "relu");
}

TEST(NearestWordTest, GoesIntoRules) {
  EXPECT_EQ(MustBeOneOf("SGD", {"adam", "sgd"}),
            "must be one of adam, sgd; did you mean \"sgd\"?");
  EXPECT_EQ(MustBeOneOf("x", {"adam", "sgd"}), "must be one of adam, sgd");
}

TEST(NearestFieldTest, FindsFieldsOfTheJobByTheirLastName) {
  EXPECT_EQ(NearestField("epochs"), "training.epochs");
  EXPECT_EQ(NearestField("epoch"), "training.epochs");
  EXPECT_EQ(NearestField("lr"), "optimizer.learning_rate");
  EXPECT_EQ(NearestField("batch_size"), "training.batch_size");
  EXPECT_EQ(NearestField("ratio"), "compressor.ratio");
  EXPECT_EQ(NearestField("model"), "model.name");
  EXPECT_EQ(NearestField("gpu"), "machine.device");
  EXPECT_EQ(NearestField("seed"), "seed");
  EXPECT_EQ(NearestField("zzzzzzzz"), "");
}

}  // namespace
}  // namespace ps
