#include "tools/evaluate/predictions.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(Predictions, TheLargestLogitsComeFirstAndOfEqualOnesTheFirst) {
  const std::vector<float> logits = {1, 3, 3, -50, 1000};
  const std::vector<ClassProbability> huge = TopClasses(logits, 5);
  const int64_t order[] = {4, 1, 2, 0, 3};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(huge[i].number, order[i]);
  EXPECT_EQ(huge[0].probability, 1);
  const std::vector<ClassProbability> top = TopClasses({logits.data(), 3}, 2);
  ASSERT_EQ(top.size(), 2u);
  const double sum = std::exp(-2) + 2;
  EXPECT_DOUBLE_EQ(top[0].probability, 1 / sum);
  EXPECT_EQ(top[1].number, 2);
}

TEST(Predictions, LinesHaveTheFieldsOfTheHeading) {
  EXPECT_EQ(CsvHeader(1, false), "file,class,probability\n");
  EXPECT_EQ(CsvHeader(2, true),
            "file,label,class,probability,class_2,probability_2\n");
  Prediction prediction;
  prediction.file = "a \"b\",c";
  prediction.classes = {{"cat", 0.75}, {"dog", 1e-9}};
  EXPECT_EQ(CsvLine(prediction), "\"a \"\"b\"\",c\",cat,0.75,dog,1e-09\n");
  prediction.label = "dog";
  EXPECT_EQ(CsvLine(prediction), "\"a \"\"b\"\",c\",dog,cat,0.75,dog,1e-09\n");
  EXPECT_EQ(JsonLine(prediction),
            R"({"file":"a \"b\",c","label":"dog","class":"cat",)"
            R"("probability":0.75,"top":[{"class":"cat","probability":0.75},)"
            R"({"class":"dog","probability":1e-09}]})"
            "\n");
}

}  // namespace
}  // namespace ps
