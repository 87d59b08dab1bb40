// A picture must look right in programs with little support for CSS.
#include "tools/report/svg_file.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Plot Line() {
  Plot plot;
  plot.title = "Loss <of training>";
  plot.series.resize(1);
  plot.series[0].label = "a & b";
  plot.series[0].points = {{0, 1}, {1, 3}, {2, 2}};
  return plot;
}

TEST(SvgFile, HasItsColoursWhereTheyAreUsed) {
  const std::string file = SvgFile(Line());
  EXPECT_THAT(file, AllOf(HasSubstr(".s0 { stroke: #0072b2; }"),
                          HasSubstr(".paper { fill: #ffffff; }"),
                          Not(HasSubstr("var(")), Not(HasSubstr("--")),
                          Not(HasSubstr("@media"))));
}

TEST(SvgFile, EscapesTextsAndIsNamedByItsTitle) {
  EXPECT_THAT(SvgFile(Line()), AllOf(HasSubstr("Loss &lt;of training&gt;"),
                                     HasSubstr("a &amp; b")));
  EXPECT_EQ(SvgFileName(Line()), "loss_of_training_.svg");
}

TEST(SvgFile, LongLabelsFitTheirLine) {
  Plot plot = Line();
  EXPECT_THAT(SvgFile(plot), Not(HasSubstr("style='font-size")));
  // 574 wide, with 0.6 of the font size for each of 100 characters.
  plot.series[0].label = std::string(100, 'w');
  EXPECT_THAT(SvgFile(plot), HasSubstr("style='font-size: 9.6px'"));
}

TEST(SvgFile, NothingToDrawIsNoFile) {
  Plot plot = Line();
  plot.series.clear();
  EXPECT_EQ(SvgFile(plot), "");
}

}  // namespace
}  // namespace ps
